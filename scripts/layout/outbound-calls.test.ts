import { describe, expect, it } from 'vitest'
import { outboundCalls } from './outbound-calls.ts'
import { problemsOf } from './shop-tree.ts'

const path = 'services/shop/src/items/item.ts'
const refused = (what: string) => `${path}:1 ${what} calls past the guarded client: use packages/common/src/outbound`

// ASVS 1.3.6
describe('calls of other servers', () => {
  it.each([
    ["export const a = () => fetch('http://a')", 'fetch'],
    ['export const a = (call) => call(fetch)', 'fetch'],
    ['export const a = { send: fetch }', 'fetch'],
    ['export const a = globalThis.fetch', 'fetch'],
    ['export const { fetch: a } = { fetch }', 'fetch'],
    ['const a = fetch\nexport { a }', 'fetch'],
    ["export const a = new WebSocket('ws://a')", 'WebSocket'],
    ["export const a = new EventSource('http://a')", 'EventSource'],
    ["import { request } from 'undici'", 'undici'],
    ["export const a = () => import('undici')", 'undici'],
    ["import { Agent } from 'undici/index.js'", 'undici/index.js'],
    ["import axios from 'axios'", 'axios'],
    ["import got from 'got'", 'got'],
    ["import ky from 'ky'", 'ky'],
    ["import needle from 'needle'", 'needle'],
    ["import fetch from 'node-fetch'", 'node-fetch'],
    ["import superagent from 'superagent'", 'superagent'],
    ["import { WebSocket } from 'ws'", 'ws'],
    ["import { Redis } from 'ioredis'", 'ioredis'],
    ["import { createClient } from 'redis'", 'redis'],
    ["import twilio from 'twilio'", 'twilio'],
    ["import { request } from 'node:http'", 'node:http'],
    ["import { connect } from 'node:http2'", 'node:http2'],
    ["import { createSocket } from 'node:dgram'", 'node:dgram'],
    ["import { get } from 'https'", 'https'],
    ["import http from 'node:http'", 'node:http'],
    ["import * as net from 'node:net'", 'node:net'],
    ["import { connect } from 'node:net'", 'node:net'],
    ["import { isIP, Socket } from 'node:net'", 'node:net'],
    ["export { connect } from 'node:tls'", 'node:tls'],
    ["export const { request } = process.getBuiltinModule('node:https')", 'node:https'],
    ["import { createTransport } from 'nodemailer'", 'nodemailer'],
    ["import { createRemoteJWKSet } from 'jose'", 'createRemoteJWKSet'],
    ["import { discoveryRequest } from 'oauth4webapi'", 'oauth4webapi without customFetch'],
  ])('refuses %s', async (text, what) => {
    expect(new Set(await problemsOf(outboundCalls, { [path]: `${text}\n` }))).toEqual(new Set([refused(what)]))
  })

  it.each([
    "import { isIP, isIPv4, isIPv6, type Socket } from 'node:net'",
    "import type { Dispatcher } from 'undici'",
    "import { createServer, METHODS, Server, STATUS_CODES } from 'node:http'",
    "import { jwtVerify } from 'jose'",
    "import { customFetch, discoveryRequest } from 'oauth4webapi'",
    "import { validateAuthResponse } from 'oauth4webapi'",
    "import { buildRequest } from './build-request.ts'",
    "import { REQUESTS } from 'oauth4webapi'",
    'export const a = globalThis.crypto',
    "import ws from 'ws-like'",
    "export const { join } = process.getBuiltinModule('node:path')",
    'export const a = (api) => api.fetch({ fetch: 1 })',
  ])('allows %s', async (text) => {
    expect(await problemsOf(outboundCalls, { [path]: `${text}\n` })).toEqual([])
  })

  it.each([
    ['services/shop/src/commands/serve.ts', false],
    ['packages/common/src/server/listen.ts', false],
    ['packages/database/src/connect.ts', false],
    ['packages/jobs/src/jobs.ts', false],
    ['packages/service/src/prepare-database.ts', false],
    ['packages/common/src/outbound/outbound.ts', true],
    ['packages/rate-limits/src/limiter-store.ts', true],
    ['packages/testing/src/mail-sink.ts', true],
    ['services/shop/src/items/item.test.ts', true],
  ])('%s may open connections: %s', async (file, isAllowed) => {
    const text = "import { Agent } from 'undici'\nexport const agent = new Agent()\n"
    expect(await problemsOf(outboundCalls, { [file]: text })).toHaveLength(isAllowed ? 0 : 1)
  })
})
