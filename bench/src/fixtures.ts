import { createHmac } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { portOf } from '@trestle/testing/free-port.ts'
import { z } from 'zod'

// Requests and rows with which bench programs prepare services.

export const PASSWORD = 'correct horse battery staple'
/** The number of different amounts and last digits of cards, so that searches for one find few rows. */
const VALUES = 9_973

export const Session = z.object({ access_token: z.string(), refresh_token: z.string() })
export type Session = z.output<typeof Session>
const CreatedApp = z.object({ app: z.object({ key: z.string() }) })

/** @throws Error with the answer if its status is not 2xx */
export async function request(url: string, options: RequestInit = {}): Promise<{ body: unknown; headers: Headers }> {
  const response = await fetch(url, options)
  const text = await response.text()
  if (!response.ok) throw new Error(`${options.method ?? 'GET'} ${url} answers ${response.status}: ${text}`)
  return { body: text === '' ? {} : JSON.parse(text), headers: response.headers }
}

/** Posts JSON and reads the answer. @throws Error with the answer if its status is not 2xx */
export async function post(
  url: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const answer = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return answer.body
}

/** Returns an access token of an admin. Its only claim is the role. */
export function signAdminToken(secret: string): string {
  return signToken(secret, { role: 'service_role' })
}

/** Returns a JWT (RFC 7519) with these claims, signed with a shared secret. */
export function signToken(secret: string, claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const data = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`
  return `${data}.${createHmac('sha256', secret).update(data).digest('base64url')}`
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Returns the code of an authenticator app (RFC 6238), `stepsFromNow` times 30 s from now. @param secret in base32 */
export function totpCode(secret: string, stepsFromNow: number): string {
  const bits = [...secret].map((letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((octet) => Number.parseInt(octet, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + stepsFromNow))
  const mac = createHmac('sha1', key).update(counter).digest()
  const number = mac.readUInt32BE((mac.at(-1) ?? 0) & 0xf) & 0x7fffffff
  return String(number % 1_000_000).padStart(6, '0')
}

export async function listen(answer: RequestListener): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Starts a server that accepts connections and never answers. @returns a function that stops it */
export async function startSilence(port: number): Promise<() => Promise<void>> {
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
}

export const PAGE_ROWS = 500

/** Returns the paths of all pages of inventory's products, by following the links to the next page. */
export async function listPages(url: string): Promise<readonly string[]> {
  const pages: string[] = []
  for (let next: string | undefined = `/products?limit=${PAGE_ROWS}`; next !== undefined; ) {
    pages.push(next)
    const { headers } = await request(new URL(next, url).href)
    next = /<([^>]+)>;\s*rel="next"/.exec(headers.get('link') ?? '')?.[1]
  }
  return pages
}

export async function signUp(url: string, email: string): Promise<Session> {
  return Session.parse(await post(`${url}/signup`, { email, password: PASSWORD }))
}

export async function signIn(url: string, email: string): Promise<Session> {
  return Session.parse(await post(`${url}/token?grant_type=password`, { email, password: PASSWORD }))
}

/** Creates an app of payments. @returns the headers of its requests */
export async function createApp(url: string): Promise<Readonly<Record<'authorization', string>>> {
  return basicOf(CreatedApp.parse(await post(`${url}/apps`, { name: 'bench' })).app.key)
}

export function basicOf(key: string): Readonly<Record<'authorization', string>> {
  return { authorization: `Basic ${Buffer.from(`:${key}`).toString('base64')}` }
}

/**
 * Adds authorized transactions to each merchant, or to one. Their cards cannot be charged. Columns that an older checkout lacks
 * are omitted.
 */
export async function insertTransactions(
  execute: (statement: string) => Promise<readonly unknown[]>,
  count: number,
  merchantId?: string,
): Promise<void> {
  const condition = merchantId === undefined ? '' : `WHERE b.merchant_id = '${merchantId}'`
  await execute(`
    WITH card AS (
      INSERT INTO payments.instruments (merchant_id, id, created, pan_sealed, key_id, pan_mac, bin, last4, expiry, scheme)
      SELECT b.merchant_id, payments.id_at(t.first, t.tag), payments.created_at(t.first), '', 0,
        decode(repeat('00', 32), 'hex'), '100000', '0000', '2066-08-31', 'visa'
      FROM payments.merchant_balances b CROSS JOIN LATERAL payments.take_ids(b.merchant_id, ${count + 1}) t ${condition}
      RETURNING merchant_id, id
    )
    INSERT INTO payments.transactions
    SELECT t.*
    FROM card c, generate_series(1, ${count}) n, jsonb_populate_record(NULL::payments.transactions, jsonb_build_object(
      'merchant_id', c.merchant_id, 'id', payments.id_at(payments.id_number(c.id) + n, right(c.id, 8)),
      'created', payments.created_at(payments.id_number(c.id) + n), 'instrument_id', c.id, 'test', true,
      'last4', lpad((n % ${VALUES})::text, 4, '0'), 'currency', 'DKK', 'funding_currency', 'DKK', 'amount', 100000000 + n % ${VALUES},
      'descriptor', 'BENCH SHOP', 'pending', 100000000 + n % ${VALUES}, 'captured', 0, 'refunded', 0,
      'voided', 0, 'disputed', 0, 'lost', 0, 'trail_length', 0, 'disputed_at_capture', false, 'recurring', false,
      'successful', true, 'code_present', true
    )) t`)
  // Record the same states as the functions that create transactions. Otherwise `ledger verify` reports forged rows.
  await execute(`
    SELECT payments.record_states(b.merchant_id, 'transactions', ARRAY(
      SELECT t.id FROM payments.transactions t WHERE t.merchant_id = b.merchant_id AND NOT EXISTS (
        SELECT FROM payments.state_entries s
        WHERE s.merchant_id = t.merchant_id AND s.table_name = 'transactions' AND s.row_id = t.id
      )
    )) FROM payments.merchant_balances b ${condition}`)
}

/** The smallest body of a test merchant. */
export function merchantBody(count: number): object {
  return {
    name: `Shop ${count}`,
    currency: 'DKK',
    test: true,
    email: 'owner@bench.example',
    website: 'https://bench.example',
    descriptor: 'BENCH SHOP',
    company: { country: 'DK' },
  }
}

/**
 * Returns the statement that inserts auth users with various names, mail hosts and phones. Only the oldest 6 % have the host
 * `oldcompany.example`.
 */
export function insertUsers(count: number): string {
  const pick = (list: string, salt: number) =>
    `(ARRAY[${list}])[1 + abs(hashint4(n * 31 + ${salt}) % ${list.split(',').length})]`
  const first = pick(
    "'James','Mary','Robert','John','Jennifer','Linda','David','Susan','Karen','Zoe','Søren','Иван'",
    1,
  )
  const last = pick("'Smith','Johnson','Brown','Garcia','Miller','Wright','Lee','Nguyen','Hill','O''Neil'", 2)
  const host = pick("'gmail.com','outlook.com','icloud.com','proton.me','mail.example.org','corp.example.net'", 3)
  // Building the search index afterwards is many times faster than adding each entry.
  return `DO $seed$
    DECLARE definition text := pg_get_indexdef('auth.user_directory_grams_idx'::regclass);
    BEGIN
    DROP INDEX auth.user_directory_grams_idx;
    INSERT INTO auth.users (id, aud, role, email, phone, encrypted_password, email_confirmed_at, raw_app_meta_data,
        raw_user_meta_data, created_at, updated_at)
      SELECT gen_random_uuid(), 'authenticated', 'authenticated', lower(f || '.' || l) || n || '@' || h,
        CASE WHEN n % 2 = 0 THEN '1' || lpad((n::bigint * 7919 % 10000000000)::text, 10, '0') END,
        '$argon2id$v=19$m=19456,t=2,p=1$GJKc8fEj4AoR/PTojbIYew$4FW369TfP4mverPz47iy55cXe0b7kDmsq3By5PqRzWk',
        now(), '{"provider":"email","providers":["email"]}', jsonb_build_object('full_name', f || ' ' || l),
        now() - (${count} - n) * interval '90 seconds', now()
      FROM (SELECT n, ${first} AS f, ${last} AS l,
        CASE WHEN n < ${count} * 0.06 THEN 'oldcompany.example' ELSE ${host} END AS h
        FROM generate_series(1, ${count}) AS n) AS people;
    EXECUTE definition;
    END $seed$`
}

/** The objects of the official client's tests, with the same ids. */
export const app = {
  id: '555eca95ed59804d2cf12b11',
  name: 'Node client',
  key: '4ff7de37-dddf-4e51-8cc9-48b61a102923',
} as const

/** A test merchant of the app. */
export const merchant = {
  id: '55006bdfe0308c4cbfdbd0e1',
  key: '3e9c6c4f-9c9b-4c77-8b0f-2f6c8d8f4a11',
  currency: 'DKK',
  test: true,
  email: 'john@example.com',
  website: 'https://example.com',
  descriptor: 'Coffee & John',
  company: { country: 'DK' },
  apps: [app.id],
} as const

/** A transaction with two captures and one refund. Amounts are in minor units. */
export const transaction = {
  id: '560fd96b7973ff3d2362a78c',
  merchantId: merchant.id,
  currency: 'EUR',
  amount: 100_000,
  card: { number: '4100000000000000', expiry: { month: 8, year: 2066 } },
  operations: [{ capture: 5_000 }, { capture: 2_000 }, { refund: 1_000 }],
} as const

/** The file that `payments seed` reads. */
export const seedFile = { apps: [app], merchants: [merchant], transactions: [transaction] }
