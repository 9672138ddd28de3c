import type { Accepted } from './compare.ts'

const ENDED_CHANGE = 'A fault of theirs: a change of address that a new password has ended is shown on.'
const DELETED =
  'A fault of theirs: a user who was deleted softly has the hash of nothing as a phone and as pending changes, and an identity without data.'
const STALE = 'A fault of theirs: the answer shows factors and identities as before the request.'
const UNCONFIRMED = 'A fault of theirs: a user without an email is called one with a confirmed email.'

/** Faults of the old server in its answers, which ours does not repeat. */
export const faults: readonly Accepted[] = [
  {
    at: '*',
    path: '*identities.*.identity_data.email_verified|*identities.*.identity_data.phone_verified',
    theirs: false,
    ours: true,
    reason: 'A fault of theirs: a confirmed address is called unverified.',
  },
  {
    at: '*',
    path: '*identities.*.identity_data.phone',
    reason: 'A fault of theirs: the identity of a phone lacks the phone until it is changed.',
  },
  {
    at: '*',
    path: '*app_metadata.providers.1|*app_metadata.provider|*app_metadata.providers',
    reason: 'A fault of theirs: a phone or an email that was added without a code is missing among the providers.',
  },
  {
    at: '*',
    path: '*confirmed_at',
    theirs: undefined,
    reason: 'A fault of theirs: the first answer about a user that was just confirmed lacks confirmed_at.',
  },
  {
    at: '*',
    path: 'body.saml_private_key_next_configured',
    theirs: true,
    ours: false,
    reason: 'A fault of theirs: without SAML no key is configured.',
  },
  {
    at: 'hooks / hooks of new users / verify by the hash of the hook: claims|hooks / * / call of CUSTOM_ACCESS_TOKEN',
    path: 'aud|claims.aud',
    theirs: ['authenticated'],
    reason: 'A fault of theirs: the audience is a list in the first call of the hook after a start, and a text later.',
  },
  {
    at: 'hooks / * / refresh, refused',
    path: 'headers.sb-auth-refresh-token-*',
    ours: undefined,
    reason: 'A fault of theirs: the new token that is named was rolled back.',
  },
  {
    at: '* / PUT /user: a nonce|* / PUT /user: a current password|current password / *|hooks / * / * new password',
    path: 'body.new_email|body.new_phone|user.new_email|user.new_phone',
    ours: undefined,
    reason: ENDED_CHANGE,
  },
  { at: '* / GET the deleted', path: 'body.phone', ours: '', reason: DELETED },
  { at: '* / GET the deleted', path: 'body.new_email|body.new_phone', ours: undefined, reason: DELETED },
  { at: '* / GET the deleted', path: 'body.identities.*.identity_data', theirs: undefined, reason: DELETED },
  { at: 'factors / * / verify*', path: 'body.user.factors.*', reason: STALE },
  { at: '* / linking / link by an id_token', path: 'body.user.identities.1', theirs: undefined, reason: STALE },
  {
    at: '* / id_tokens / *: no email*',
    path: '*user_metadata.email_verified|*identity_data.email_verified',
    theirs: true,
    ours: undefined,
    reason: UNCONFIRMED,
  },
  {
    at: '* / PUT /admin/users/*: a new email|* / PUT /admin/users/*: a new confirmed email',
    path: 'body.identities.*.email',
    reason: STALE,
  },
  {
    at: '* / id_tokens / *: no email',
    path: 'body.user.email_confirmed_at',
    ours: undefined,
    reason: UNCONFIRMED,
  },
  {
    at: '* / id_tokens / *: an unverified email',
    path: 'body.user.identities.*.identity_data.email_verified',
    theirs: true,
    ours: false,
    reason: 'A fault of theirs: the first answer calls an email verified that the provider has not verified.',
  },
]
