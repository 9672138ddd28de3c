/**
 * Returns a text with the letters A to Z in lower case, like PostgreSQL with the collation "C". `toLowerCase` also converts other
 * characters to the letters a to z, such as the Kelvin sign. It could therefore turn one mailbox into another.
 */
export function lowerAToZ(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
