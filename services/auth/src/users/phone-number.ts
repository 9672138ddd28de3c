/**
 * E.164 digits without `+`; undefined when the text is no phone number (reference: Phone numbers). One `+` and spaces
 * may be there.
 */
export function normalisePhone(phone: string): string | undefined {
  const digits = phone.replace(/^\+/, '').replaceAll(' ', '')
  return /^[1-9][0-9]{1,14}$/.test(digits) ? digits : undefined
}
