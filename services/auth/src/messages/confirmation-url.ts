import { OWN_LINK_PATH } from '../config/mail.ts'

/** What a mail's link carries. */
export interface ConfirmationLink {
  /** Base of links: API_EXTERNAL_URL, or the permitted host of the request. */
  readonly base: string
  /** The setting MAILER_URLPATHS_…: the own one is appended to the base, anything else resolved against it. */
  readonly path: string
  readonly token: string
  readonly type: string
  readonly redirectTo: string
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are among what must be encoded
const NEEDS_ENCODING = /[%+&=#\s"'<>`\u0000-\u001f\u007f-\u009f]/u

/** The link of a mail (reference: Mail links). `redirect_to` stays readable where nothing in it could be misread. */
export function confirmationUrl({ base, path, token, type, redirectTo }: ConfirmationLink): string {
  const address = path === OWN_LINK_PATH ? base.replace(/\/+$/, '') + path : new URL(path, base).href
  const target = NEEDS_ENCODING.test(redirectTo) ? encodeURIComponent(redirectTo) : redirectTo
  return `${address}${address.includes('?') ? '&' : '?'}token=${token}&type=${type}&redirect_to=${target}`
}
