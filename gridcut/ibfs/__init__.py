"""The default max-flow method on the CPU, "ibfs": ibfs.py is the driver, the other files hold its kernels."""
