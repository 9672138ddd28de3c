/** What `POST /admin/generate_link` makes links for (reference: Generated links). */
export const LINK_TYPES = [
  'signup',
  'invite',
  'magiclink',
  'recovery',
  'email_change_current',
  'email_change_new',
] as const

export type LinkType = (typeof LINK_TYPES)[number]
