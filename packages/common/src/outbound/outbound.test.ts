import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { portOf } from '@trestle/testing/free-port.ts'
import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import { afterAll, describe, expect, it } from 'vitest'
import { AnswerNotUtf8, createOutbound, plainHttpWarnings } from './outbound.ts'

const peer = await startStubProvider(({ url }) => {
  if (url === '/long') return { status: 503, body: 'x'.repeat(1_000_000) }
  if (url === '/big') return { body: 'x'.repeat(2_000) }
  if (url.startsWith('/bytes')) return { body: Buffer.from('{"name":"caf\xe9"}', 'latin1') }
  if (url === '/list') return { status: 200, headers: { link: '</list?cursor=2>; rel="next"' }, body: [] }
  if (url === '/moved') return { status: 302, headers: { location: '/big' }, body: '' }
  return url === '/silent' ? undefined : { status: 201, body: { ok: true } }
})
const outbound = createOutbound([])
const get = (path: string, rest = {}) =>
  outbound.send({ method: 'GET', url: peer.url + path, timeoutMs: 2_000, origin: 'operator', ...rest })

afterAll(() => peer.close())

describe('open', () => {
  it('leaves the process alive when an answer is destroyed unread', async () => {
    const { status, body } = await outbound.open({
      method: 'GET',
      url: `${peer.url}/long`,
      timeoutMs: 2_000,
      origin: 'operator',
    })
    // Do not use `once(body, 'close')`, because it adds an error listener. That listener would hide an unhandled error.
    const closed = new Promise((resolve) => body.once('close', () => resolve('closed')))
    body.destroy()
    expect([status, await closed]).toEqual([503, 'closed'])
  })
})

describe('send', () => {
  it('sends a form and reads the answer', async () => {
    const answer = await outbound.send({
      method: 'POST',
      url: `${peer.url}/x?y=1`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'a=1',
      timeoutMs: 2_000,
      origin: 'operator',
    })
    expect(answer).toEqual({ status: 201, body: '{"ok":true}', contentType: 'application/json' })
    const { method, url, body } = peer.requests.at(-1) ?? {}
    expect({ method, url, body }).toEqual({ method: 'POST', url: '/x?y=1', body: 'a=1' })
  })

  it('returns the link to the next page of a list', async () => {
    const next = { status: 200, body: '[]', contentType: 'application/json', link: '</list?cursor=2>; rel="next"' }
    expect(await get('/list', { method: 'DELETE' })).toEqual(next)
    expect(peer.requests.at(-1)?.method).toBe('DELETE')
  })

  // The server closes in the same turn of the event loop, so a write fails before the response is read.
  it('413: returns the answer of a server that closes before it has read the body', async () => {
    const answer = 'HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 8\r\n\r\nline 2: '
    expect(await sendToClosing((socket) => socket.write(answer))).toEqual({
      status: 413,
      body: 'line 2: ',
      contentType: '',
    })
  })

  it('rejects when a server closes without an answer', async () => {
    await expect(sendToClosing(() => {})).rejects.toThrow(/other side closed|ECONNRESET/)
  })

  // ASVS 15.3.2
  it('returns a redirect without following it', async () => {
    expect((await get('/moved')).status).toBe(302)
    expect(peer.requests.at(-1)?.url).toBe('/moved')
  })

  it('limits the size of an answer and the time of a call', async () => {
    await expect(get('/big', { bytesMax: 1_000 })).rejects.toThrow('more than 1000 bytes')
    const cut = await get('/big', { bytesMax: 1_000, beyondMax: 'cut' })
    expect(cut).toEqual({ status: 200, body: 'x'.repeat(1_000), contentType: 'application/json' })
    await expect(get('/silent', { timeoutMs: 50 })).rejects.toThrow('The operation was aborted due to timeout')
  })

  it('refuses an answer that is not UTF-8', async () => {
    const fault = new AnswerNotUtf8(`${peer.url} answered bytes that are not UTF-8`)
    await expect(get('/bytes')).rejects.toThrow(fault)
    await expect(get('/bytes', { beyondMax: 'cut' })).rejects.toThrow(fault)
  })

  it('shows a text whose bytes are not UTF-8, where it is asked to', async () => {
    const shown = { status: 200, body: '{"name":"caf\ufffd"}', contentType: 'application/json' }
    expect(await get('/bytes', { notUtf8: 'replace' })).toEqual(shown)
  })

  it('gives up a server that cannot be reached in time', async () => {
    const unreached = createOutbound([], () => new Promise(() => {}))
    const call = unreached.send({ method: 'GET', url: 'http://silent.test/', timeoutMs: 50, origin: 'data' })
    await expect(call).rejects.toThrow('The operation was aborted due to timeout')
  })

  // ASVS 1.3.6
  it('connects only to allowed addresses of a name', async () => {
    const mixed = createOutbound(['127.0.0.1'], async () =>
      ['10.0.0.1', '169.254.169.254', '127.0.0.1'].map((address) => ({ address, family: 4 })),
    )
    const url = peer.url.replace('127.0.0.1', 'mixed.example')
    const answer = await mixed.send({ method: 'GET', url, timeoutMs: 2_000, origin: 'data' })
    expect(answer).toEqual({ status: 201, body: '{"ok":true}', contentType: 'application/json' })
  })

  it('uses no connection that was checked for another origin', async () => {
    const url = peer.url.replace('127.0.0.1', 'localhost')
    const send = (origin: 'operator' | 'data') => outbound.send({ method: 'GET', url, timeoutMs: 2_000, origin })
    expect((await send('operator')).status).toBe(201)
    await expect(send('data')).rejects.toThrow('is not one that this service may call')
  })

  it('knows from the URL alone that a call would be refused', () => {
    const may = (url: string) => outbound.mayCall({ url, origin: 'data' })
    expect(['https://example.com/', 'http://93.184.216.34/', 'http://localhost.example/'].filter(may)).toHaveLength(3)
    const own = [
      'http://127.0.0.1/',
      'https://[::1]/',
      'http://0x7f000001/',
      'http://localhost/',
      'https://a.LOCALHOST/',
    ]
    expect([...own, 'file:///x'].filter(may)).toEqual([])
    expect(outbound.mayCall({ url: 'http://localhost/', origin: 'operator' })).toBe(true)
  })

  it('refuses a loopback address that the operator has not named', async () => {
    await expect(get('/', { origin: 'data' })).rejects.toThrow('is not one that this service may call')
    await expect(
      outbound.send({ method: 'GET', url: 'http://localhost:1/', timeoutMs: 500, origin: 'data' }),
    ).rejects.toThrow('is not one that this service may call')
    await expect(
      outbound.send({ method: 'GET', url: 'file:///etc/passwd', timeoutMs: 500, origin: 'operator' }),
    ).rejects.toThrow('is not one that this service may call')
  })
})

/** Sends a body of 20 pieces to a server. After the first piece the server calls `last` and closes the connection. */
async function sendToClosing(last: (socket: Socket) => void) {
  const closed = Promise.withResolvers<void>()
  await using server = await listen((socket) =>
    socket.once('data', () => {
      last(socket)
      socket.destroy()
      closed.resolve()
    }),
  )
  async function* pieces() {
    yield Buffer.alloc(1_000_000)
    await closed.promise
    for (let sent = 0; sent < 20; sent++) yield Buffer.alloc(100_000)
  }
  const url = `http://127.0.0.1:${portOf(server)}/`
  return await outbound.send({
    method: 'POST',
    url,
    body: Readable.from(pieces()),
    timeoutMs: 5_000,
    origin: 'operator',
  })
}

async function listen(serve: (socket: Socket) => void): Promise<Server> {
  const server = createServer(serve).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

const WARNING =
  'X_JWKS_URL is http:// and not on this machine: anyone on the network path can replace the keys, and sign tokens for anybody'

describe('plainHttpWarnings', () => {
  it.each([
    [undefined, false],
    ['https://auth.example/jwks.json', false],
    ['http://localhost:8081/jwks.json', false],
    ['http://127.0.0.1:8081/jwks.json', false],
    ['http://127.8.8.8/jwks.json', false],
    ['http://[::1]:8081/jwks.json', false],
    ['http://auth:8081/jwks.json', true],
    ['HTTP://auth.example/jwks.json', true],
    ['http://10.0.0.5/jwks.json', true],
    ['http://127.0.0.1.evil.example/jwks.json', true],
    ['http://localhost.evil.example/jwks.json', true],
  ])('keys at %s: a warning is %s', (url, isWarned) => {
    expect(plainHttpWarnings('X_JWKS_URL', url)).toEqual(isWarned ? [WARNING] : [])
  })
})
