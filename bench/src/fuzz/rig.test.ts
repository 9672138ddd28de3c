import { createServer } from 'node:http'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { portOf } from '@trestle/testing/free-port.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createMemory } from './memory.ts'
import { parseApiDocument } from './openapi.ts'
import { createSender, createSession, type Sender } from './rig.ts'
import type { WireRequest } from './wire.ts'

const text = '{"sku":"A"}'
const packed: Readonly<Record<string, string | Buffer>> = {
  gzip: gzipSync(text),
  deflate: deflateSync(text),
  br: brotliCompressSync(text),
  identity: text,
}
const server = createServer(({ url = '', method }, response) => {
  const [coding = '', spoilt] = url.slice(1).split('?')
  response.setHeader('content-encoding', coding).end(method === 'HEAD' ? '' : spoilt ? text : packed[coding])
})
let sender: Sender
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  sender = createSender(`http://127.0.0.1:${portOf(server)}`)
})
afterAll(() => {
  sender.close()
  server.close()
})
const ask = (target: string, method = 'GET') => sender.send({ method, target, headers: [], body: undefined })

it.each(Object.keys(packed))('reads what is packed by %s', async (coding) => {
  expect((await ask(`/${coding}`)).text).toBe(text)
})

it('accepts an empty answer to HEAD that names a compression', async () => {
  expect((await ask('/gzip', 'HEAD')).text).toBe('')
})

it('throws when an answer is not compressed as its header says', async () => {
  await expect(ask('/gzip?spoilt')).rejects.toThrow('incorrect header check')
})

const document = parseApiDocument({
  paths: { '/products': { post: { responses: { '201': {} } }, get: { responses: { '200': {} } } } },
  components: {},
})
const pools = new Set(['productId', 'cursor', 'etag', 'cookie', 'state', 'authCode', 'refreshToken'])
const wire = (method: string): WireRequest => ({ method, target: '/products?x=1', headers: [], body: undefined })

function openSession(answer: { readonly status: number; readonly headers: object; readonly body: unknown }) {
  const memory = createMemory({ actors: 1, pools })
  const headers = new Map(Object.entries({ 'content-type': 'application/json', ...answer.headers }))
  const session = createSession({
    ...{ memory, operations: document.operations, normalPath: (path: string) => path },
    sender: { send: async () => ({ ...answer, headers, text: JSON.stringify(answer.body) }), close: () => undefined },
    judge: () => (answer.status >= 500 ? ['answers 500'] : []),
  })
  return { memory, session }
}

describe('createSession', () => {
  it('keeps values of answers by the names that requests use', async () => {
    const { memory, session } = openSession({
      ...{ status: 201, body: { statusCode: 201, data: { id: 7 } } },
      headers: { etag: '"1"', link: '</products?limit=1&cursor=a%3D>; rel="next"', 'set-cookie': 'a=b=; Path=/' },
    })
    await session.exchange([{ actor: 0, wire: wire('POST'), isGenerated: true }])
    const kept = ['productId', 'etag', 'cursor', 'cookie'].map((pool) => memory.all(pool))
    expect(kept).toEqual([[7], ['"1"'], ['a='], ['a=b=']])
  })

  it('keeps the parameters of redirects', async () => {
    const location = 'https://app.example/?code=c&state=s#refresh_token=r'
    const { memory, session } = openSession({ status: 303, headers: { location }, body: '' })
    await session.exchange([{ actor: 0, wire: wire('GET'), isGenerated: true }])
    expect(['authCode', 'state', 'refreshToken'].map((pool) => memory.all(pool))).toEqual([['c'], ['s'], ['r']])
  })

  it('keeps nothing of a refusal, and notes a fault once, with its count', async () => {
    const { memory, session } = openSession({ status: 500, headers: {}, body: { id: 7 } })
    for (const method of ['GET', 'POST', 'POST'])
      await session.exchange([{ actor: 0, wire: wire(method), isGenerated: true }])
    expect(memory.all('productId')).toEqual([])
    expect(session.findings().map(({ operation, count, first }) => [operation, count, first])).toEqual([
      ['GET /products', 1, 1],
      ['POST /products', 2, 2],
    ])
    expect(session.counts.get('POST /products')).toEqual(new Map([['500', 2]]))
  })

  it('counts only generated requests', async () => {
    const { session } = openSession({ status: 200, headers: {}, body: {} })
    await session.exchange([{ actor: 0, wire: wire('GET'), isGenerated: false }])
    expect([session.sent(), session.counts.size]).toEqual([1, 0])
  })
})
