iket-serve nowhere
