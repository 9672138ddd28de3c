import type { Behaviours } from '../config/behaviours.ts'

/** The default path of links, under the URL of the service. */
export const OWN_LINK_PATH = '/verify'

/** The parts of a mail's link. */
export interface ConfirmationLink {
  /** The base of links: API_EXTERNAL_URL, or the permitted host of the request. */
  readonly base: string
  /** The setting MAILER_URLPATHS_…. The default path is appended to the base; any other is resolved against it. */
  readonly path: string
  readonly token: string
  readonly type: string
  readonly redirectTo: string
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are among what must be encoded
const NEEDS_ENCODING = /[%+&=#\s"'<>`\u0000-\u001f\u007f-\u009f]/u

/** The link of a mail (reference: Mail links). Encodes `redirect_to` only where it must, so that it stays readable. */
export function confirmationUrl({ base, path, token, type, redirectTo }: ConfirmationLink): string {
  const address = path === OWN_LINK_PATH ? base.replace(/\/+$/, '') + path : new URL(path, base).href
  const target = NEEDS_ENCODING.test(redirectTo) ? encodeURIComponent(redirectTo) : redirectTo
  return `${address}${address.includes('?') ? '&' : '?'}token=${token}&type=${type}&redirect_to=${target}`
}

/** The kinds of mail whose path a link has, by the `type` in the link. */
const PATHS = {
  signup: 'confirmation',
  invite: 'invite',
  magiclink: 'recovery',
  recovery: 'recovery',
  email_change: 'emailChange',
} as const

/** The path of a link that an admin gets (reference: Generated links). */
export function generatedLinkPath(
  config: {
    readonly behaviours: Pick<Behaviours, 'generatedLinkPath'>
    readonly mail: { readonly linkPaths: Readonly<Record<(typeof PATHS)[keyof typeof PATHS], string>> }
  },
  linkType: keyof typeof PATHS,
): string {
  return config.behaviours.generatedLinkPath === 'own' ? OWN_LINK_PATH : config.mail.linkPaths[PATHS[linkType]]
}
