/**
 * Whether a value is a web `Response`, of the platform or of a library with its own `fetch`. Their classes differ, but both have
 * this tag (Web IDL, 3.7.6).
 */
export function isWebResponse(value: unknown): value is Response {
  return Object.prototype.toString.call(value) === '[object Response]'
}
