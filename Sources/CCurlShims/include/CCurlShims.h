#ifndef VAULT_CURL_SHIMS_H
#define VAULT_CURL_SHIMS_H

#include <curl/curl.h>

// libcurl sets options by a function of variable arguments, which Swift can't call.

CURLcode vault_curl_set_number(CURL *handle, CURLoption option, long value);
CURLcode vault_curl_set_pointer(CURL *handle, CURLoption option, const void *value);
CURLcode vault_curl_set_receiver(
    CURL *handle, size_t (*receiver)(char *bytes, size_t size, size_t count, void *context), void *context);
CURLMcode vault_curl_set_multi_number(CURLM *multi, CURLMoption option, long value);
/// The status of the answer; 0 before there is one.
long vault_curl_status(CURL *handle);
/// What a transfer that has ended says, and its result. NULL when none has ended.
CURL *vault_curl_finished(CURLM *multi, CURLcode *result);

#endif
