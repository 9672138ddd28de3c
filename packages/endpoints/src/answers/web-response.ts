/**
 * Whether a value is a web `Response`: the platform's, or that of a library with a `fetch` of its own, which is another class.
 * Each of them names itself so (Web IDL, 3.7.6).
 */
export function isWebResponse(value: unknown): value is Response {
  return Object.prototype.toString.call(value) === '[object Response]'
}
