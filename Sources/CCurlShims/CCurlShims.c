#include "CCurlShims.h"

CURLcode vault_curl_set_number(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

CURLcode vault_curl_set_pointer(CURL *handle, CURLoption option, const void *value) {
  return curl_easy_setopt(handle, option, value);
}

CURLcode vault_curl_set_receiver(
    CURL *handle, size_t (*receiver)(char *bytes, size_t size, size_t count, void *context), void *context) {
  CURLcode result = curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, receiver);
  return result != CURLE_OK ? result : curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
}

CURLMcode vault_curl_set_multi_number(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

long vault_curl_status(CURL *handle) {
  long status = 0;
  return curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK ? status : 0;
}

CURL *vault_curl_finished(CURLM *multi, CURLcode *result) {
  int left;
  for (;;) {
    CURLMsg *message = curl_multi_info_read(multi, &left);
    if (message == NULL) return NULL;
    if (message->msg != CURLMSG_DONE) continue;
    *result = message->data.result;
    return message->easy_handle;
  }
}
