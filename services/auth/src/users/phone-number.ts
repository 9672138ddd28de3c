/** E.164 digits without `+` (ruling R13), undefined when the text is no phone number. One `+` and spaces may be there. */
export function normalisePhone(phone: string): string | undefined {
  const digits = phone.replace(/^\+/, '').replaceAll(' ', '')
  return /^[1-9][0-9]{1,14}$/.test(digits) ? digits : undefined
}
