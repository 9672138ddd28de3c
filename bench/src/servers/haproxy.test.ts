import { expect, it } from 'vitest'
import { haproxyConfig } from './haproxy.ts'

it('balances HTTP by readiness, and leads to the primary database', () => {
  const text = haproxyConfig([
    { name: 'auth', port: 1, mode: 'http', check: '/ready', servers: [{ name: 'auth-1', port: 11 }] },
    { name: 'db', port: 2, mode: 'tcp', check: '/primary', servers: [{ name: 'node-1', port: 21, checkPort: 31 }] },
  ])
  expect(text).toContain(`listen auth
  bind 127.0.0.1:1
  mode http
  timeout client 60s
  timeout server 60s
  option httpchk GET /ready
  http-check expect status 200
  http-request set-header X-Forwarded-For %[src]
  default-server inter 250ms fall 3 rise 1
  server auth-1 127.0.0.1:11 check
listen db
  bind 127.0.0.1:2
  mode tcp
  timeout client 1h
  timeout server 1h
  option httpchk GET /primary
  http-check expect status 200
  default-server inter 250ms fall 3 rise 1 on-marked-down shutdown-sessions
  server node-1 127.0.0.1:21 check port 31
`)
})
