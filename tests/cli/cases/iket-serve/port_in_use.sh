# The URL is the only line on stdout; a port that is taken is an error; SIGTERM ends it with 0.
iket-serve --port 0 . > url 2> /dev/null &
while [ ! -s url ]; do sleep 0.05; done
port=$(sed 's/.*:\([0-9]*\).*/\1/' url)
sed "s/$port/PORT/" url
iket-serve --port "$port" . 2> error || echo "exit $?"
sed "s/$port/PORT/; s/in use.*/in use/" error
kill -TERM $!
wait $! && echo ended
