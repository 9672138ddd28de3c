import { chapter } from './requirement.ts'

const NO_GRAPHQL = { notApplicable: 'there is no GraphQL, and no query language' }
const NO_WEBSOCKET = { notApplicable: 'there is no WebSocket' }

export const interfaces = chapter('V4 API and web service', [
  ['4.1.1', 1, 'Answers name their media type and charset'],
  [
    '4.1.2',
    2,
    'Only pages for people redirect from HTTP to HTTPS',
    {
      documented: 'SECURITY.md#what-you-must-do',
      note: 'the services never redirect to HTTPS; the proxy is the operator’s',
    },
  ],
  ['4.1.3', 2, 'Clients cannot write the headers of proxies'],
  ['4.2.1', 2, 'Requests have one border, for every component (smuggling)'],
  ['4.3.1', 2, 'Expensive queries are bounded', { auth: NO_GRAPHQL, payments: NO_GRAPHQL }],
  ['4.3.2', 2, 'GraphQL introspection is off', { notApplicable: 'there is no GraphQL' }],
  ['4.4.1', 1, 'WebSockets use TLS', NO_WEBSOCKET],
  ['4.4.2', 2, 'WebSockets check the origin', NO_WEBSOCKET],
  ['4.4.3', 2, 'WebSockets have tokens of their own', NO_WEBSOCKET],
  ['4.4.4', 2, 'Tokens of WebSockets come from a session', NO_WEBSOCKET],
])

const NO_WEBRTC = 'there is no WebRTC'

export const webrtc = chapter('V17 WebRTC', [], { auth: NO_WEBRTC, payments: NO_WEBRTC, inventory: NO_WEBRTC })
