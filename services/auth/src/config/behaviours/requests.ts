import { type BehaviourRows, is, type KeptBehaviour } from './behaviour.ts'

/** Every request and answer, and redirects. */
export const requestBehaviours = {
  sendErrorCodeHeader: {
    subject: 'The header `x-sb-error-code` of errors',
    compatible: is(false, 'not sent'),
    supabase: is(true, 'the error code'),
    reason: 'Gateways and logs read it without the body.',
  },
  headBytesMax: {
    subject: 'Size of the headers of a request',
    compatible: is(16_384, '16 KiB'),
    supabase: is(1_048_576, '1 MiB'),
    reason: 'An access token holds `user_metadata`.',
  },
  trustedPeer: {
    subject: '`X-Forwarded-For` while `TRUSTED_PROXIES` is unset',
    compatible: is('none', 'is not read'),
    supabase: is(
      'private peer',
      'its last entry is the address of the client, where the connection comes from a private network. Request limits stay off',
    ),
    reason: 'The compose file of Supabase has a gateway in front, and no setting that says so.',
  },
  endTimesInZ: {
    subject: 'Times in answers and in what hooks are sent',
    compatible: is(false, 'end in `+00:00`'),
    supabase: is(true, 'end in `Z`'),
    reason: 'Parsers of some languages, and tests of applications, want this letter.',
  },
  compareSiteRedirectsBy: {
    subject: 'Redirects to `SITE_URL`',
    compatible: is('host', 'to its host, on any port, by https or its own scheme http'),
    supabase: is(
      'origin',
      'to its scheme, host and port, where `localhost` has any port; and to every loopback address, by any scheme and port',
    ),
    strict: is('address', 'to itself alone'),
    reason: 'Programs on the machine of a user listen at a free port.',
  },
  addSlashToEmptyPath: {
    subject: 'A redirect to an address without a path',
    compatible: is(true, 'gets a `/`: `myapp://callback/#…`'),
    supabase: is(false, 'stays as written: `myapp://callback#…`'),
    reason: 'Apps compare their own address as a text.',
  },
} as const satisfies BehaviourRows

/** Differences from supabase/auth that every profile keeps: requests, answers and redirects. */
export const keptRequestBehaviours: readonly KeptBehaviour[] = [
  {
    subject: 'Redirects with dot segments, or to a port that is none',
    ours: 'Refused',
    theirs: 'Followed',
    reason: 'Browsers and servers resolve such a path, and so leave what the list permits.',
  },
  {
    subject: 'Unknown URLs and methods',
    ours: '404 and 405 with a JSON body; HEAD and a slash at the end work',
    theirs: 'Text, or no body; 404 and 405',
    reason: 'One form of errors for every answer.',
  },
  {
    subject: '`Retry-After` and `X-Redirect-Refused`',
    ours: 'Sent',
    theirs: 'Not sent',
    reason: 'A client learns when to try again, and a developer why a redirect went elsewhere.',
  },
  {
    subject: 'Form bodies and `grant_type` in the body of `POST /token`; `GET /verify?token_hash=`',
    ours: 'Accepted',
    theirs: '400',
    reason: 'Clients of supabase/auth never send them.',
  },
  {
    subject: 'CORS, cache headers and the echo of `X-Supabase-Api-Version`',
    ours: 'Fixed lists with `apikey`; 204 for any OPTIONS; no-store; always echoed',
    theirs: 'Echoes what is asked, needs a gateway for `apikey`',
    reason: 'Browsers need no gateway.',
  },
  {
    subject: 'Values out of form in bodies, queries and tokens',
    ours: 'Refused with 400 or 403',
    theirs: 'Ignored, or 500',
    reason: 'A mistake is told where it is made.',
  },
  {
    subject: 'Bodies that are no JSON, members of a wrong type',
    ours: '400 `bad_json` with a text that names the member',
    theirs: '400 `bad_json` with the text of the JSON library of Go',
    reason: 'A developer finds the member. Clients act on the code, which is the same.',
  },
  {
    subject: 'The texts of errors',
    ours: 'Our own where status and code agree',
    theirs: 'Some name providers, codes or answers of hooks',
    reason: 'Clients act on codes. What a server answered is in the log.',
  },
]
