# SPDX-License-Identifier: Apache-2.0
# What users of IKET have in their folders to look at a trace.json, written as they write it. It must go on working.
import json
import sys

with open(sys.argv[1]) as f:
    data = json.load(f)

launch = data["launches"][0]
names = data["stringTable"]
locations = data["locationTable"]

print(launch["kernelName"], launch["gridDimX"], launch["gridDimY"], launch["gridDimZ"], launch["blockDimX"])
for marker in launch["markers"]:
    where = locations[marker["locIdx"]]
    print(names[marker["markerNameIdx"]], where["ctaId"], where["warpId"], where["smId"], marker["timestamp"], marker.get("payloadVal"))
for r in launch["ranges"]:
    first, last = r["internalEvents"][0], r["internalEvents"][-1]
    where = locations[r["warpLocIdxs"][0]]
    print(names[r["rangeNameIdx"]], where["ctaId"], where["warpId"], r["endTs"] - r["startTs"], first["eventId"], first.get("payloadVal"), last["timestamp"])
for life in launch["warpLifetimes"]:
    print("warp", locations[life["locIdx"]]["warpId"], life["endTs"] - life["startTs"])
