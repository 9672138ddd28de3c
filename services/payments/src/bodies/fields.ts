import { z } from 'zod'

/** Whether PostgreSQL can store a text and JSON can carry it: no U+0000, no lone surrogate (reference: Text). */
export function isStorable(value: string): boolean {
  return !value.includes('\0') && value.isWellFormed()
}

/** The text with U+FFFD in the place of each character that cannot be stored. */
export function toStorable(value: string): string {
  return value.replaceAll('\0', '\ufffd').toWellFormed()
}

/** A text that can be stored. */
export function text() {
  return z.string().refine(isStorable, {
    error: 'must not contain U+0000 or lone surrogates',
    params: { code: 'FORMAT' },
  })
}

/** A trimmed name of 1 to 255 characters. */
export function name() {
  return text().trim().min(1).max(255)
}

/** At most 254 characters, one `@`, a host name with a dot as domain. */
export function email() {
  return text()
    .trim()
    .max(254)
    .refine(isEmail, { error: 'must be an e-mail address', params: { code: 'FORMAT' } })
}

function isEmail(value: string): boolean {
  const [local = '', domain = '', ...others] = value.split('@')
  return others.length === 0 && LOCAL_PART.test(local) && domain.includes('.') && HOST.test(domain)
}

/** Without the specials of RFC 5322: mail libraries drop some of them, so one mailbox would have many spellings. */
const LOCAL_PART = /^[^\s\p{C}<>()[\]:;,"\\]+$/u

/** An absolute http(s) URL or a bare host name, at most 2048 characters, kept as given. */
export function website() {
  return text()
    .trim()
    .max(2048)
    .refine((value) => isHttpUrl(value) || HOST.test(value), {
      error: 'must be an http or https URL or a host name',
      params: { code: 'FORMAT' },
    })
}

const HOST =
  /^(?=.{1,253}$)[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?(?:\.[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?)*$/u

/** Whether a text is an absolute http(s) URL. */
export function isHttpUrl(value: string): boolean {
  return /^https?:\/\/\S+$/i.test(value) && URL.canParse(value)
}

/** Text on bank statements: 2 to 22 printable ASCII characters, kept as given (reference: Text). */
export function descriptor() {
  return text()
    .min(2)
    .max(22)
    .refine((value) => /^[\x20-\x7e]*$/.test(value), {
      error: 'must be printable ASCII characters',
      params: { code: 'FORMAT' },
    })
}

/** An id in the path, in lower case. What is no id becomes the empty text, which names nothing: 404, never 400. */
export function pathId() {
  return z.string().transform((value) => (ID.test(value) ? value.toLowerCase() : ''))
}

const ID = /^[0-9a-f]{24}$/i

/** An id in a body or a query, in lower case. Whether it names anything is not judged. */
export function id() {
  return text()
    .refine((value) => ID.test(value), { error: 'must be 24 hexadecimal digits', params: { code: 'FORMAT' } })
    .toLowerCase()
}

/** An instant of RFC 3339, in UTC from here on: PostgreSQL knows fewer offsets, and years that JavaScript writes otherwise. */
export function instant() {
  return z.iso
    .datetime({ offset: true })
    .refine((value) => Date.parse(value) >= 0 && Date.parse(value) < YEAR_10000, {
      error: 'must lie between the years 1970 and 9999',
      params: { code: 'RANGE' },
    })
    .transform((value) => new Date(value).toISOString())
}

const YEAR_10000 = Date.UTC(10_000)

/** Pagination of a list, and the filter that every list has (reference: Pagination). */
export const ListQuery = z.object({
  limit: z.int().min(1).max(1000),
  before: id().optional(),
  after: id().optional(),
  filter: z.object({ test: z.boolean().optional() }).optional(),
})
