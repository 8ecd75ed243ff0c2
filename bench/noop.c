/* SPDX-License-Identifier: Apache-2.0 */
/* Linked statically: the cheapest process there is. */
int main(void) { return 0; }
