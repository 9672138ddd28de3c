import { statSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { createFolder, removeFoldersAtEnd } from '@trestle/testing/temporary-folder.ts'
import { jwtVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import { bannerLines } from './banner.ts'
import { collectStatus, type StartedParts } from './stack-status.ts'
import { readStatus, removeStatus, statusFileOf, writeStatus } from './status-file.ts'

removeFoldersAtEnd()

const secret = 's'.repeat(43)
const metrics = { port: 9100 }
const parts: StartedParts = {
  homeUrl: 'http://localhost:8083',
  services: [
    { prefix: 'AUTH_', url: 'http://localhost:8081', metrics },
    { prefix: 'INVENTORY_', url: 'http://localhost:8080', metrics: undefined },
  ],
  mail: { web: 8025, smtp: 1025 },
  databaseUrl: 'postgres://trestle@127.0.0.1/trestle',
  jwtSecret: secret,
  operator: undefined,
  now: new Date('2026-11-23T12:00:00Z'),
}
const alone = {
  ...parts,
  services: parts.services.slice(1),
  mail: undefined,
  databaseUrl: undefined,
  jwtSecret: undefined,
}

describe('collectStatus', () => {
  it('names the addresses of what was started, and keys that the secret signs for ten years', async () => {
    const { ANON_KEY = '', SERVICE_ROLE_KEY = '', ...others } = await collectStatus(parts)
    expect(others).toEqual({
      HOME_URL: 'http://localhost:8083',
      AUTH_URL: 'http://localhost:8081',
      INVENTORY_URL: 'http://localhost:8080',
      MAIL_URL: 'http://localhost:8025',
      MAIL_SMTP_URL: 'smtp://localhost:1025',
      DB_URL: 'postgres://trestle@127.0.0.1/trestle',
      JWT_SECRET: secret,
      AUTH_METRICS_URL: 'http://localhost:9100/metrics',
    })
    const exp = Date.UTC(2036, 0) / 1_000
    const claims = await Promise.all(
      [ANON_KEY, SERVICE_ROLE_KEY].map((key) => jwtVerify(key, Buffer.from(secret), { algorithms: ['HS256'] })),
    )
    expect(claims.map(({ payload }) => payload)).toEqual([
      { role: 'anon', exp },
      { role: 'service_role', exp },
    ])
  })

  it('makes the same keys at each start of a year', async () => {
    const later = await collectStatus({ ...parts, now: new Date('2026-12-31T23:59:59Z') })
    expect(later).toEqual(await collectStatus(parts))
  })

  it('leaves out what was not started', async () => {
    expect(await collectStatus(alone)).toEqual({
      HOME_URL: 'http://localhost:8083',
      INVENTORY_URL: 'http://localhost:8080',
    })
  })
})

describe('the status file', () => {
  it('is read back by its owner alone, until it is removed', async () => {
    const plan = { dataDirectory: createFolder() }
    expect(readStatus(plan)).toBeUndefined()
    const status = await collectStatus(parts)
    writeStatus(plan, status)
    expect(readStatus(plan)).toEqual(status)
    expect(statSync(statusFileOf(plan)).mode & 0o777).toBe(0o600)
    removeStatus(plan)
    expect(readStatus(plan)).toBeUndefined()
  })
})

describe('bannerLines', () => {
  const folders = { root: '/repo', dataDirectory: '/repo/.data', logDirectory: '/repo/.data/logs' }
  const print = (lines: readonly string[]) => stripVTControlCharacters(lines.join('\n'))

  it('tells where everything is, the keys, the settings, and what to try', async () => {
    const status = { ...(await collectStatus(parts)), ANON_KEY: 'anon.key', SERVICE_ROLE_KEY: 'service.key' }
    expect(print(bannerLines(status, folders))).toBe(`
  auth        http://localhost:8081   docs http://localhost:8081/docs
  inventory   http://localhost:8080   docs http://localhost:8080/docs
  mail        http://localhost:8025   catches every mail that is sent to smtp://localhost:1025
  PostgreSQL  postgres://trestle@127.0.0.1/trestle
  all of it   http://localhost:8083   a page with these links

Keys of auth (service may do everything: for servers only)
  publishable anon.key
  service     service.key

  settings    yours go into .env; to apply a change, stop and start again
  in effect   .data/auth.env, .data/inventory.env
  logs        npm start -- logs [service] [--errors]   (in .data/logs)
  this again  npm start -- status [-o env|json]
  stop        npm start -- stop, or Ctrl-C where it runs

Try, in another terminal
  npx node examples/sign-up.ts          sign up, read the mail, follow its link, sign in
  npx node examples/list-stock.ts       receive, reserve and ship stock

Read, with curl and TypeScript
  docs/quick-start/sign-in-a-user.md    Sign users in from a page of your own
  docs/quick-start/reserve-stock.md     Reserve stock, and ship it`)
  })

  it('tells how the first operator signs in to the console', async () => {
    const services = [...parts.services, { prefix: 'CONSOLE_', url: 'http://localhost:8084', metrics: undefined }]
    const operator = { email: 'operator@example.com', password: 'secret' }
    expect(bannerLines(await collectStatus({ ...parts, services, operator }), folders)).toContain(
      '  console     http://localhost:8084   sign in as operator@example.com with the password secret',
    )
  })

  it('leaves out what was not started, and names folders elsewhere in full', async () => {
    const elsewhere = { ...folders, dataDirectory: join('/data'), logDirectory: '/data/logs' }
    expect(print(bannerLines(await collectStatus(alone), elsewhere))).toBe(`
  inventory   http://localhost:8080   docs http://localhost:8080/docs
  all of it   http://localhost:8083   a page with these links

  settings    yours go into .env; to apply a change, stop and start again
  in effect   /data/inventory.env
  logs        npm start -- logs [service] [--errors]   (in /data/logs)
  this again  npm start -- status [-o env|json]
  stop        npm start -- stop, or Ctrl-C where it runs

Try, in another terminal
  npx node examples/list-stock.ts       receive, reserve and ship stock

Read, with curl and TypeScript
  docs/quick-start/reserve-stock.md     Reserve stock, and ship it`)
  })

  it.each([
    [
      'all services',
      { AUTH_URL: 'a', PAYMENTS_URL: 'p', INVENTORY_URL: 'i' },
      'shop/server.ts      a shop that uses all',
    ],
    ['payments alone', { PAYMENTS_URL: 'p' }, 'create-merchant.ts  make an app and merchants'],
  ])('offers an example for %s', (_parts, status, example) => {
    const [, examples = ''] = print(bannerLines(status, folders)).split('Try, in another terminal')
    expect(examples.match(/shop\/server|create-merchant/g)).toHaveLength(1)
    expect(examples).toContain(`npx node examples/${example}`)
  })

  it('names the first steps of payments, and how its events reach a program', () => {
    const lines = bannerLines({ PAYMENTS_URL: 'p' }, folders)
    expect(lines).toContain('  docs/quick-start/take-a-payment.md    Take a payment, and receive its webhook')
    expect(lines).toContain('  npm -s run payments -- -c .data/payments.env listen --forward-to localhost:3000/hook')
  })
})
