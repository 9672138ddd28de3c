/**
 * A text with the letters A to Z in lower case, as PostgreSQL lowers it under the collation "C". `toLowerCase`
 * makes letters A to Z of others too, such as of the sign of Kelvin, so it would replace one mailbox by another.
 */
export function lowerAToZ(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}
