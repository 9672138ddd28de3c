/** Whether a text is a number of a card: 13 to 19 digits of which the last is the check digit (Luhn), with blanks or hyphens. */
export function isCardNumber(text: string): boolean {
  const digits = text.replaceAll(/[ +-]/g, '')
  if (!/^[1-9]\d{12,18}$/.test(digits)) return false
  const worths = [...digits].reverse().map((digit, place) => (place % 2 === 0 ? digit : String(Number(digit) * 2)))
  return [...worths.join('')].reduce((sum, digit) => sum + Number(digit), 0) % 10 === 0
}
