/** The types of links that `POST /admin/generate_link` makes (reference: Generated links). */
export const LINK_TYPES = [
  'signup',
  'invite',
  'magiclink',
  'recovery',
  'email_change_current',
  'email_change_new',
] as const

/** The `type` of a mail's link, which `GET /verify` takes. */
export type LinkType = (typeof LINK_TYPES)[number]
