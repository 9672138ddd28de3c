import { type BehaviourRows, is, type KeptBehaviour } from './behaviour.ts'

/** Users, as they are stored, shown and administered. */
export const userBehaviours = {
  copyAddressToUserMetadata: {
    subject: '`user_metadata`',
    compatible: is(false, 'holds what was sent'),
    supabase: is(
      true,
      'a sign-up adds `sub`, `email`, `email_verified` and `phone_verified` (both false) over what was sent; the confirmation of an email, also by a provider or by linking, writes `email_verified: true`; `phone_verified` stays false',
    ),
    reason: 'Triggers and policies read `raw_user_meta_data`, and applications the claims of the token.',
  },
  metadataBytesMax: {
    subject: 'Size of `user_metadata` and `app_metadata` together',
    compatible: is(8_192, '8 KiB of JSON, so that an access token fits into a header, in a body of at most 256 KiB'),
    supabase: is(768_000, '750 KiB, for the same reason, in a body of at most 1 MiB'),
    reason: 'Applications keep images in metadata.',
  },
  keepSentTimesOfChanges: {
    subject: '`email_change_sent_at` and `phone_change_sent_at` after the change',
    compatible: is(false, 'absent'),
    supabase: is(true, 'stay'),
    reason: 'Types of client libraries have the members, and applications show when a change was asked for.',
  },
  showSignInOfOwnIdentities: {
    subject: '`last_sign_in_at` of an identity by email or phone',
    compatible: is(false, 'absent'),
    supabase: is(true, 'when the identity was made'),
    reason: 'Types of client libraries have the member, and applications format it.',
  },
  copyInvitationDataToIdentity: {
    subject: '`data` of an invitation, or of a generated link that makes a user',
    compatible: is(true, 'goes to `user_metadata` and to the `identity_data` of the email'),
    supabase: is(false, 'goes to `user_metadata` alone'),
    reason: 'Applications read what the admin has written in one place.',
  },
  ignoreNewAudience: {
    subject: '`aud` in `PUT /admin/users/:id`',
    compatible: is(false, 'is set'),
    supabase: is(true, 'is ignored'),
    reason: 'Programs send a whole user back. A user in another audience could not sign in any more.',
  },
  keepConfirmationOfChangedAddress: {
    subject: 'A new email or phone by `PUT /admin/users/:id`, without `email_confirm` or `phone_confirm`',
    compatible: is(false, 'is unconfirmed'),
    supabase: is(true, 'is confirmed when the former address was'),
    reason: 'Scripts of support change an address, and the user signs in with it.',
  },
  userListRowsMax: {
    subject: '`per_page` of `GET /admin/users`',
    compatible: is(1_000, 'up to 1,000'),
    supabase: is(50_000, 'up to 50,000, streamed'),
    reason: 'Scripts read all users with `listUsers({ perPage: 10000 })`.',
  },
  acceptPageZero: {
    subject: '`page=0` of `GET /admin/users`',
    compatible: is(false, '400 `validation_failed`'),
    supabase: is(true, 'the first page'),
    reason: 'Scripts count pages from 0.',
  },
  auditProviderOfNewUser: {
    subject: '`traits.provider` in the audit log, where an admin creates a user',
    compatible: is(false, 'absent'),
    supabase: is(true, '`email` or `phone`'),
    reason: 'Queries of the log count new users by it.',
  },
} as const satisfies BehaviourRows

/** Differences from supabase/auth that every profile keeps: users. */
export const keptUserBehaviours: readonly KeptBehaviour[] = [
  {
    subject: 'Taken addresses and ids, bad hashes and long passwords in the admin API',
    ours: '400, 409 or 422 with an error code',
    theirs: '500 with the text of PostgreSQL',
    reason: 'A client can act on a code. The text shows the inside of the database.',
  },
  {
    subject: '`identities` in lists of users, `Link` and their order',
    ours: 'Filled; `Link` always has `per_page`',
    theirs: '`null`; `Link` repeats the query',
    reason: 'Everything that clients of supabase/auth read is there.',
  },
  {
    subject: 'A pending change of address that a new password has ended, and one of a deleted user',
    ours: 'Absent',
    theirs: '`new_email` and `new_phone` stay, though no code confirms them; hashes of a deleted user',
    reason: 'A fault of theirs.',
  },
  {
    subject: 'A sign-up under autoconfirm in the audit log',
    ours: '`user_signedup`',
    theirs: '`user_signedup` and `login`',
    reason: 'One act is one entry, so that counts of sign-ins have no sign-ups in them.',
  },
  {
    subject: '`POST /admin/users/:id`',
    ours: 'Creates the user with this id',
    theirs: '405',
    reason: 'Clients of supabase/auth never send it.',
  },
]
