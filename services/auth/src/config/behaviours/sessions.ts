import { type BehaviourRows, is } from './behaviour.ts'

/** Sessions and their tokens. */
export const sessionBehaviours = {
  acceptSpentParentUntilChildIsUsed: {
    subject: 'The parent of the newest live refresh token, used again; that from before `aal2` too',
    compatible: is(
      false,
      'within `REUSE_INTERVAL` gets its child again; later ends the session. Not that from before `aal2`',
    ),
    supabase: is(true, 'at any time until its child is used'),
    reason: 'A client whose answer was lost, or whose phone slept meanwhile, stays signed in.',
  },
  branchOnAncestorReuse: {
    subject: 'Any other spent refresh token, used again within `REUSE_INTERVAL`',
    compatible: is(false, 'ends the session'),
    supabase: is(true, 'gets a new child; the other tokens of the session stay alive'),
    reason: 'A stale tab refreshes while another tab has refreshed twice. Rendering on a server makes this usual.',
  },
  useExternalUrlAsIssuer: {
    subject: 'The claim `iss` where `JWT_ISSUER` is not set',
    compatible: is(true, '`API_EXTERNAL_URL`'),
    supabase: is(false, 'none'),
    reason: 'Some verifiers accept only the claims that they list, and refuse a token with one more.',
  },
  expireTokensAtTimebox: {
    subject: 'Access tokens of a session with a timebox, with `SESSIONS_ENFORCE_ON_ACCESS_TOKEN`',
    compatible: is(true, 'expire with the session'),
    supabase: is(false, 'expire as others do; the next refresh is refused'),
    reason: 'Clients refresh a token that expires in a minute at once, and would do so until the session ends.',
  },
  takeAssuranceLevelFrom: {
    subject: 'An access token from before its session reached `aal2`',
    compatible: is('token', 'counts as `aal1`: 401 `insufficient_aal` where a second factor is needed'),
    supabase: is('session', 'counts as its session does'),
    reason: 'Servers hold the old token of a browser that has shown the second factor meanwhile.',
  },
  acceptTokenAudience: {
    subject: 'The audience of a user’s access token',
    compatible: is('of its user', 'must be that of the user: 400 and 403'),
    supabase: is('any', 'is only compared with the header X-JWT-AUD; the user is found by `sub`'),
    reason: 'The hook CUSTOM_ACCESS_TOKEN writes audiences of other services into tokens.',
  },
  reportDeletedUserAsMissing: {
    subject: 'A token of a user who was deleted softly',
    compatible: is('user', '403 `user_not_found`'),
    supabase: is('session', '403 `session_not_found`'),
    reason: 'Such a user still has a row, but no session.',
  },
  sendSessionHeaders: {
    subject:
      'The headers `sb-auth-user-id`, `sb-auth-session-id` and `sb-auth-refresh-token-prefix` of a new or refreshed session',
    compatible: is(false, 'not sent'),
    supabase: is(
      true,
      'sent, also where a hook refuses the session or a refresh is refused, as far as they are known; with `sb-auth-refresh-token-reuse: false` where a refresh has made a new refresh token',
    ),
    reason: 'Gateways and logs follow a session by them.',
  },
  showOAuthErrorMembers: {
    subject: 'Errors of `POST /token`',
    compatible: is('beside', 'have `error` and `error_description` beside their own members'),
    supabase: is(
      'of id_tokens',
      'have their own members alone; those about an id_token itself, or the session of an OAuth client, only `error` (`invalid request`, `invalid nonce`, `invalid_client`) and `error_description`, in every API version',
    ),
    reason: 'Clients take an error for one of OAuth by these members.',
  },
} as const satisfies BehaviourRows
