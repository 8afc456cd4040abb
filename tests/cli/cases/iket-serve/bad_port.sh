mkdir empty
iket-serve empty --port 99999 || echo "exit $?"
iket-serve empty --port abc || echo "exit $?"
