"""What every room may use: exp, random numbers, heaps, bit sets, CSR rows, vector code."""
