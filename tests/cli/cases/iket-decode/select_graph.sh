iket-decode -q --emit json -o - --launch graph_exec_2:0 $FIXTURES/collector/graph/iket.data.bin > t.json
python3 -c 'import json; t = json.load(open("t.json")); p = t["locationTable"]
for l in t["launches"] + sum(t["graphLaunches"].values(), []):
    print(l["kernelName"][:20], l["gridId"], len(l["markers"]), len(l["ranges"]), sorted({(p[w["locIdx"]]["smId"], *p[w["locIdx"]]["ctaId"], p[w["locIdx"]]["warpId"]) for w in l["warpLifetimes"]}))'
