import { createSocket, type RemoteInfo } from 'node:dgram'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { startStubProvider } from '@trestle/testing/stub-provider.ts'
import ipaddr from 'ipaddr.js'
import { afterAll, describe, expect, it } from 'vitest'
import { createNameLookup, createOutbound } from './outbound.ts'

const [A, AAAA] = [1, 28]
const [SERVER_FAILURE, NAME_ERROR] = [2, 3]

/** Addresses by name, or the code of a refusal. The name server does not answer for other names. */
const RECORDS: Readonly<Record<string, readonly string[] | number>> = {
  'quick.example': ['127.0.0.1'],
  'both.example': ['192.0.2.1', '2001:db8::1', '192.0.2.2'],
  'six.example': ['2001:db8::6'],
  'half.example': ['192.0.2.3'],
  'private.example': ['10.0.0.1', 'fd00::1'],
  'empty.example': [],
  'absent.example': NAME_ERROR,
  'broken.example': SERVER_FAILURE,
  'later.example': ['192.0.2.4'],
}
const server = await startNameServer()
const peer = await startStubProvider(() => ({ body: { ok: true } }))
const servers = [`127.0.0.1:${server.address().port}`]
const find = (host: string, lookupMs?: number) =>
  createNameLookup([], { servers, ...(lookupMs === undefined ? {} : { lookupMs }) })({ host, origin: 'data' })

afterAll(async () => {
  server.close()
  await peer.close()
})

describe('createNameLookup', () => {
  it.each([
    ['quick.example', ['127.0.0.1']],
    ['both.example', ['192.0.2.1', '192.0.2.2', '2001:db8::1']],
    ['six.example', ['2001:db8::6']],
  ])('finds the addresses of %s, IPv4 first', async (host, expected) => {
    expect(await find(host)).toEqual(expected.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 })))
  })

  it.each([
    ['absent.example', 'ENOTFOUND'],
    ['empty.example', 'ENOTFOUND'],
    [`${'x'.repeat(64)}.example`, 'ENOTFOUND'],
    ['broken.example', 'EAI_AGAIN'],
  ])('rejects for %s with the code %s', async (host, code) => {
    const failure = await find(host).catch((error) => ({ code: error.code, message: error.message }))
    expect(failure).toEqual({ code, message: `look-up of ${host}: ${code}` })
  })

  it('rejects with ETIMEOUT for a name whose server is silent, after its own time', async () => {
    await expect(find('slow.example', 50)).rejects.toThrow('look-up of slow.example: ETIMEOUT')
  })

  it('takes the addresses of one family when there is no answer about the other', async () => {
    expect(await find('half.example', 1_000)).toEqual([{ address: '192.0.2.3', family: 4 }])
  })

  it('asks a name server again that has not answered', async () => {
    expect(await find('later.example')).toEqual([{ address: '192.0.2.4', family: 4 }])
  })

  // These hosts are IP addresses. The system resolves them without a name server, so the test needs none.
  it.each([
    ['a host of a setting', { host: '192.0.2.8', origin: 'operator' }],
    ['a host that is allowed by name', { host: '192.0.2.9', origin: 'data' }],
  ] as const)('lets the system look up %s', async (_kind, own) => {
    const addresses = await createNameLookup(['192.0.2.9'], { servers })(own)
    expect([addresses, server.asked.includes(own.host)]).toEqual([[{ address: own.host, family: 4 }], false])
  })

  it('lets the system look up a name of this machine', async () => {
    const addresses = await find('localhost')
    expect(addresses.filter(({ address }) => ipaddr.process(address).range() !== 'loopback')).toEqual([])
    expect(server.asked).not.toContain('localhost')
  })

  it('asks the name servers for a host of which the operator allows the network alone', async () => {
    const inNetwork = createNameLookup(['192.0.2.0/24'], { servers })
    expect(await inNetwork({ host: 'later.example', origin: 'data' })).toEqual([{ address: '192.0.2.4', family: 4 }])
  })

  it('leaves other look-ups and the disk alone while 32 names wait for their servers', async () => {
    const outbound = createOutbound(['127.0.0.1'], createNameLookup([], { servers }))
    const { port } = new URL(peer.url)
    const send = (host: string, timeoutMs: number) =>
      outbound.send({ method: 'GET', url: `http://${host}:${port}/`, origin: 'data', timeoutMs })
    // These look-ups continue after their calls have timed out.
    const slow = Array.from({ length: 32 }, (_, at) => send(`slow-${at}.example`, 1_000))
    const ended = Promise.allSettled(slow)
    await expect.poll(() => new Set(server.asked.filter((name) => name.startsWith('slow-'))).size).toBe(32)
    const quick = await send('quick.example', 5_000)
    expect(quick).toEqual({ status: 200, body: '{"ok":true}', contentType: 'application/json' })
    expect(await readFile(import.meta.filename, 'utf8')).toContain('slow.example')
    expect((await ended).map(({ status }) => status)).toEqual(slow.map(() => 'rejected'))
  })

  // ASVS 1.3.6
  it('leaves the check of addresses to the client, which refuses private ones', async () => {
    const outbound = createOutbound([], createNameLookup([], { servers }))
    for (const host of ['private.example', 'quick.example']) {
      await expect(
        outbound.send({ method: 'GET', url: `http://${host}/`, timeoutMs: 5_000, origin: 'data' }),
      ).rejects.toThrow(`the address of ${host} is not one that this service may call`)
    }
  })
})

async function startNameServer() {
  const socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (question: Buffer, { port, address }: RemoteInfo) => {
    const { name, type, end } = readQuestion(question)
    const isFirst = !asked.includes(name)
    asked.push(name)
    const records = RECORDS[name]
    const isSilent = (name === 'half.example' && type === AAAA) || (name === 'later.example' && isFirst)
    if (records === undefined || isSilent) return
    const code = typeof records === 'number' ? records : 0
    const addresses = typeof records === 'number' ? [] : records.filter((each) => isIPv6(each) === (type === AAAA))
    socket.send(toAnswer(question.subarray(0, end), { type, code, addresses }), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return { asked, address: () => socket.address(), close: () => socket.close() }
}

const HEADER_BYTES = 12

/** Reads the only question of a packet (RFC 1035). `end` is the offset after the question. */
function readQuestion(packet: Buffer) {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = packet.readUInt8(at); length > 0; length = packet.readUInt8(at)) {
    labels.push(packet.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), type: packet.readUInt16BE(at + 1), end: at + 5 }
}

interface Answer {
  readonly type: number
  readonly code: number
  readonly addresses: readonly string[]
}

function toAnswer(question: Buffer, { type, code, addresses }: Answer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  question.copy(header, 0, 0, 2)
  // The flags of an answer, with recursion desired and available.
  header.writeUInt16BE(0x8180 | code, 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(addresses.length, 6)
  const records = addresses.map((address) => {
    const data = Buffer.from(ipaddr.parse(address).toByteArray())
    // A pointer to the name of the question, the class IN, and a lifetime of a minute.
    const head = Buffer.from([0xc0, HEADER_BYTES, 0, type, 0, A, 0, 0, 0, 60, 0, data.length])
    return Buffer.concat([head, data])
  })
  return Buffer.concat([header, question.subarray(HEADER_BYTES), ...records])
}
