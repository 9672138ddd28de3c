import { chapter } from './requirement.ts'

const NO_COOKIE = { notApplicable: 'the service sets no cookie' }
const NO_PAGE_OF_DATA = {
  notApplicable: 'the only page is the documentation of the API, which shows nothing of clients',
}
const NO_MESSAGES = { notApplicable: 'no page receives messages of other windows' }
const NO_AMBIENT = {
  notApplicable: 'no browser adds credentials by itself: tokens and keys go in the header Authorization',
}
const NO_SUBDOMAINS = {
  deviation:
    'answers over TLS (as a trusted proxy says) have HSTS for a year, without subdomains: a service cannot know whether every name below its host has TLS. If all do, the proxy can replace the header',
}
const NO_CSRF = { auth: NO_AMBIENT, inventory: NO_AMBIENT }

/** Chapter V3: browsers. */
export const frontend = chapter('V3 Web frontend security', [
  ['3.2.1', 1, 'Browsers cannot take an answer for another type of content'],
  ['3.2.2', 1, 'Text is inserted as text, not as HTML', { inventory: NO_PAGE_OF_DATA }],
  [
    '3.3.1',
    1,
    'Cookies are Secure and have the prefix __Host- or __Secure-',
    {
      auth: NO_COOKIE,
      inventory: NO_COOKIE,
      payments: {
        deviation:
          'the only cookie belongs to a payment that waits for the bank; it is Secure if the customer uses TLS, and has no prefix',
      },
    },
  ],
  ['3.3.2', 2, 'Cookies have SameSite', { auth: NO_COOKIE, inventory: NO_COOKIE }],
  [
    '3.3.3',
    2,
    'Cookies have the prefix __Host-',
    {
      auth: NO_COOKIE,
      inventory: NO_COOKIE,
      payments: {
        deviation: 'the prefix requires the path `/`, but the cookie’s path separates payments in two windows',
      },
    },
  ],
  ['3.3.4', 2, 'Scripts cannot read cookies', { auth: NO_COOKIE, inventory: NO_COOKIE }],
  ['3.4.1', 1, 'HSTS for a year, with subdomains', NO_SUBDOMAINS],
  [
    '3.4.2',
    1,
    'CORS names trusted origins, or answers nothing sensitive',
    {
      auth: {
        deviation:
          'any origin may call, as existing clients expect; there are no cookies, so an origin gets only what its own tokens allow',
      },
    },
  ],
  ['3.4.3', 2, 'Pages have a Content-Security-Policy'],
  ['3.4.4', 2, 'Every answer has `X-Content-Type-Options: nosniff`'],
  ['3.4.5', 2, 'The referrer reveals nothing to other sites'],
  ['3.4.6', 2, 'Every answer has `frame-ancestors`'],
  ['3.5.1', 1, 'Requests are not forged across sites', NO_CSRF],
  ['3.5.2', 1, 'Requests that need a preflight cannot be sent without one', NO_AMBIENT],
  [
    '3.5.3',
    1,
    'GET requests change nothing',
    {
      auth: {
        deviation:
          'links in mails sign in by GET, and `GET /reauthenticate` sends a code to its caller; existing clients use both',
        strict: 'links show a button first; `GET /reauthenticate` stays',
        isPartial: true,
      },
      payments: {
        deviation:
          'the bank redirects back by GET, which completes a payment that the customer has begun by POST; it needs the cookie of that browser',
      },
    },
  ],
  ['3.5.4', 2, 'Each application has a host name of its own', { documented: 'SECURITY.md#what-you-must-do' }],
  [
    '3.5.5',
    2,
    'Messages of other windows are checked for their origin',
    {
      auth: NO_MESSAGES,
      inventory: NO_MESSAGES,
      payments: {
        documented: 'docs/longer-runs.md#pages',
        note: '`bench/src/pages/payment-page.ts` pays in Chromium; the page accepts messages only of its own frame and origin',
      },
    },
  ],
  [
    '3.7.1',
    2,
    'Only supported browser technologies are used',
    { notApplicable: 'pages are HTML, CSS and JavaScript, without plug-ins' },
  ],
  [
    '3.7.2',
    2,
    'Redirects to other hosts follow a list',
    {
      payments: {
        deviation:
          'a payment link names its own redirect, because merchants write links without a signature; the page names the shop',
      },
      inventory: { notApplicable: 'nothing redirects to another host' },
    },
  ],
])

const NO_GRAPHQL = { notApplicable: 'there is no GraphQL, and no query language' }
const NO_WEBSOCKET = { notApplicable: 'there is no WebSocket' }

/** Chapter V4: HTTP messages. */
export const interfaces = chapter('V4 API and web service', [
  ['4.1.1', 1, 'Answers name their media type and charset'],
  [
    '4.1.2',
    2,
    'Only pages for people redirect from HTTP to HTTPS',
    {
      documented: 'SECURITY.md#what-you-must-do',
      note: 'the services never redirect to HTTPS; the operator’s proxy may',
    },
  ],
  ['4.1.3', 2, 'Clients cannot set the headers of proxies'],
  ['4.2.1', 2, 'All components agree where a request ends (smuggling)'],
  ['4.3.1', 2, 'Expensive queries are bounded', { auth: NO_GRAPHQL, payments: NO_GRAPHQL }],
  ['4.3.2', 2, 'GraphQL introspection is off', { notApplicable: 'there is no GraphQL' }],
  ['4.4.1', 1, 'WebSockets use TLS', NO_WEBSOCKET],
  ['4.4.2', 2, 'WebSockets check the origin', NO_WEBSOCKET],
  ['4.4.3', 2, 'WebSockets have tokens of their own', NO_WEBSOCKET],
  ['4.4.4', 2, 'Tokens of WebSockets come from a session', NO_WEBSOCKET],
])

const NO_WEBRTC = 'there is no WebRTC'

/** Chapter V17, which applies to no service. */
export const webrtc = chapter('V17 WebRTC', [], { auth: NO_WEBRTC, payments: NO_WEBRTC, inventory: NO_WEBRTC })
