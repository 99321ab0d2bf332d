// A static program loads no libraries. libdw asks for one that fetches debug information from the
// net ($DEBUGINFOD_URLS), and goes without it. glibc's own functions would load a libc beside the
// one that is linked in, which may be of another version.

extern "C" void* dlopen(const char*, int) {
    return nullptr;
}

extern "C" void* dlsym(void*, const char*) {
    return nullptr;
}
