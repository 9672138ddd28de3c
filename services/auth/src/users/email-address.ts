const LENGTH_MAX = 255

// The expression of the HTML standard for `input type=email`: ASCII only, no dot needed in the domain.
const EMAIL =
  /^[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$/

/** Why a text is no email address; undefined when it is one (reference: Email addresses). Nothing is trimmed. */
export function emailProblem(email: string): string | undefined {
  if (email === '') return 'An email address is required'
  if (email.length > LENGTH_MAX) return 'An email address is too long'
  return EMAIL.test(email) ? undefined : 'Unable to validate email address: invalid format'
}

/** The form in which an email address is stored and compared. */
export function normaliseEmail(email: string): string {
  return email.toLowerCase()
}
