import { is, type KeptDifference, type OptionRows } from './option.ts'

export const providerOptions = {
  acceptProviderNameInAnyCase: {
    subject: '`GET /authorize?provider=KeyCloak`',
    compatible: is(false, '400 `validation_failed`'),
    supabase: is(true, 'as `keycloak`'),
    reason: 'Links of applications write names as people do.',
  },
  showProviderInFragment: {
    subject: '`provider` in the fragment after a sign-in at a provider',
    compatible: is(true, 'its name'),
    supabase: is(false, 'absent'),
    reason: 'Applications compare the whole fragment.',
  },
  showProviderRefusalCode: {
    subject: 'The redirect after a provider has refused a sign-in',
    compatible: is(true, 'has `error_code=bad_oauth_callback`'),
    supabase: is(false, 'has no `error_code`'),
    reason: 'Applications tell by it whether the user or this service has refused.',
  },
  refuseSharedEmailAsTaken: {
    subject: 'A first sign-in at a provider with a verified email that several users have',
    compatible: is(true, '422 `email_exists`'),
    supabase: is(false, '500 `unexpected_failure`'),
    reason:
      'A user can act on a taken address. The profile supabase keeps the answer that clients of supabase/auth know.',
  },
  mergeProfileOnLinking: {
    subject: 'Linking an identity',
    compatible: is(true, 'merges the profile of the provider into `user_metadata`'),
    supabase: is(false, 'leaves `user_metadata` as it is'),
    reason: 'A user who links an account keeps the name that applications show.',
  },
  keepChosenMetadata: {
    subject: 'A sign-in at a provider, and a key of `user_metadata` that `PUT /user` or an admin has written',
    compatible: is(true, 'leaves the key as it is'),
    supabase: is(false, 'writes the claim of the provider over it'),
    reason: 'A user who has changed the name or the picture keeps the change.',
  },
  showEmptyCustomClaims: {
    subject: '`custom_claims` of an account at Azure or Keycloak that has none, after a sign-in by redirect',
    compatible: is(false, 'absent'),
    supabase: is(true, '`{}`'),
    reason: 'Applications read its members without asking whether it is there.',
  },
  reportUnknownIssuerAsUnsupported: {
    subject: 'An id_token of an issuer or a provider for which no setting could enable the grant',
    compatible: is(false, '400 `provider_disabled`, unless the provider is on'),
    supabase: is(true, '400 `validation_failed`'),
    reason: 'One code covers every grant that no operator can enable.',
  },
  acceptIssuersOfEnabledProviders: {
    subject: 'An id_token by `issuer` and `client_id`, of a provider that is on',
    compatible: is(false, 'needs the issuer in `EXTERNAL_ALLOWED_ID_TOKEN_ISSUERS`, and a client id of ours'),
    supabase: is(true, 'needs neither: its audience must be a client id of ours'),
    reason: 'Clients name a realm of Keycloak by its issuer. Old clients name every provider by its issuer.',
  },
  requireEmailInIdToken: {
    subject: 'An id_token of a new account without an email',
    compatible: is(true, '400 `validation_failed`'),
    supabase: is(
      false,
      'signs in under autoconfirm, as a user without an email; otherwise 422 `provider_email_needs_verification`',
    ),
    reason: 'Users of Apple and Facebook may hide their email.',
  },
  ownCallbackOfNewProviders: {
    subject: 'The redirect URI of a custom provider that an admin adds without `callback`',
    compatible: is(true, '`/callback/<identifier>`'),
    supabase: is(false, '`/callback`'),
    reason: 'Admins register the address that they know at the provider.',
  },
} as const satisfies OptionRows

export const keptProviderDifferences: readonly KeptDifference[] = [
  {
    subject: 'PKCE towards providers, and what is passed on to them',
    ours: 'S256; only what the provider needs',
    theirs: 'No PKCE; the query of the client is passed on',
    reason: 'A stolen code of the provider is of no use without its verifier.',
  },
  {
    subject: 'Verified members of identities, providers after an address was added, factors after their verification',
    ours: 'What is so after the request',
    theirs: 'What was so before it',
    reason: 'Faults of supabase/auth.',
  },
  {
    subject: 'What an admin has given an invited user who accepts by an account at a provider with the invited email',
    ours: '`user_metadata` and phone stay, beside the claims of the provider',
    theirs: 'The claims of the provider replace `user_metadata`',
    reason: 'An invitation that is accepted by its mail keeps them too.',
  },
  {
    subject: 'Unlinking the identity by which a user has confirmed their email',
    ours: '422 `email_conflict_identity_not_deletable`',
    theirs: 'The user gets the email of another identity',
    reason: 'Otherwise a stolen session moves the account to another address. A change of email does it.',
  },
  {
    subject: 'The texts of errors at providers: an unknown provider, a code that is missing or was not exchanged',
    ours: 'General',
    theirs: 'Name the provider and the code',
    reason:
      'Anybody can write a name or a code into an address. The code of an error is the same, and the log has the rest.',
  },
  {
    subject: 'Another issuer, or another claim of the subject, of a custom provider with identities',
    ours: '409 `conflict`; an identity of another issuer signs nobody in (422)',
    theirs: 'Taken; the same subject signs in as the same user',
    reason: 'A subject is unique within its issuer, so it would be somebody else.',
  },
  {
    subject: 'A parameter of `/callback` that comes twice, and an `iss` of another provider (RFC 9207)',
    ours: 'Refused',
    theirs: 'The first one counts; `iss` is not read',
    reason: 'The answer of one provider must not count in the sign-in at another.',
  },
  {
    subject: 'An address that only the identity of an own email has, and not its user',
    ours: 'Leads to nobody',
    theirs: 'An account at a provider with this address signs in as the user',
    reason: 'SQL or an import may have left it there, and nobody has proved it.',
  },
]
