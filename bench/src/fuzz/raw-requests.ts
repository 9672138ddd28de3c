import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { deflateSync, gzipSync } from 'node:zlib'
import { findInternals, findSecrets } from './judge.ts'

/** Bytes of a connection that no HTTP client would send. */
export interface RawRequest {
  readonly name: string
  readonly bytes: Buffer
  /** Whether the bytes are a complete request, which must be answered. */
  readonly isWhole: boolean
}

interface RawTarget {
  readonly get: string
  /** A path that accepts JSON by POST. */
  readonly post: string
  /** Header lines that authorize a request, each with its line break. */
  readonly credential: string
}

const CLOSE = 'Host: localhost\r\nConnection: close\r\n'
const MIB = 1024 * 1024

/** Returns all raw requests: request lines, headers, framing and bodies that every service must survive. */
export function rawRequests(target: RawTarget): readonly RawRequest[] {
  return [...requestLines(target), ...headers(target), ...framing(target), ...bodies(target), ...notHttp()]
}

function whole(name: string, bytes: string | Buffer): RawRequest {
  return { name, bytes: Buffer.from(bytes), isWhole: true }
}

function broken(name: string, bytes: string | Buffer): RawRequest {
  return { name, bytes: Buffer.from(bytes), isWhole: false }
}

function latin1(name: string, text: string): RawRequest {
  return broken(name, Buffer.from(text, 'latin1'))
}

function requestLines({ get }: RawTarget): readonly RawRequest[] {
  const line = (first: string) => `${first}\r\n${CLOSE}\r\n`
  return [
    whole('HTTP/1.0', `GET ${get} HTTP/1.0\r\n\r\n`),
    whole('absolute URL', line(`GET http://other.example${get} HTTP/1.1`)),
    whole('OPTIONS *', line('OPTIONS * HTTP/1.1')),
    ...[
      '/%',
      '/%00',
      '/%c0%af',
      '/%ED%A0%80',
      '//',
      '/..',
      '/%2e%2e/%2e%2e/',
      `${get}?%`,
      `${get}?a[__proto__][x]=1`,
    ].map((path) => whole(`path ${path}`, line(`GET ${path} HTTP/1.1`))),
    ...['TRACE', 'BREW', 'get', 'PROPFIND', 'QUERY', 'CONNECT', 'X'.repeat(1_000)].map((method) =>
      broken(`method ${method.slice(0, 9)}`, line(`${method} ${get} HTTP/1.1`)),
    ),
    ...['HTTP/2.0', 'HTTP/9.9', 'HTTP/1', 'http/1.1', ''].map((version) =>
      broken(`version "${version}"`, line(`GET ${get} ${version}`)),
    ),
    ...[8_192, 8_300, 20_000, 200_000].map((length) =>
      whole(`URL of ${length} characters`, line(`GET ${get}?x=${'x'.repeat(length)} HTTP/1.1`)),
    ),
    whole('1,800 parameters', line(`GET ${get}?${'a=1&'.repeat(1_800)} HTTP/1.1`)),
    latin1('bytes beyond ASCII in the path', line(`GET ${get}\xff\xfe HTTP/1.1`)),
    latin1('NUL in the path', line(`GET ${get}\0 HTTP/1.1`)),
    broken('spaces in the path', line(`GET ${get} x y HTTP/1.1`)),
    broken('no path', line('GET  HTTP/1.1')),
    broken('another host to connect to', line('CONNECT example.com:80 HTTP/1.1')),
  ]
}

function headers({ get, credential }: RawTarget): readonly RawRequest[] {
  const ask = (lines: string) => `GET ${get} HTTP/1.1\r\n${CLOSE}${credential}${lines}\r\n`
  return [
    whole('no Host', `GET ${get} HTTP/1.1\r\nConnection: close\r\n\r\n`),
    whole('two Hosts', ask('Host: other.example\r\n')),
    whole('odd Host', `GET ${get} HTTP/1.1\r\nHost: \r\nConnection: close\r\n\r\n`),
    whole('17 KiB of a header', ask(`X-Long: ${'x'.repeat(17_000)}\r\n`)),
    whole('3,000 headers', ask('A: 1\r\n'.repeat(3_000))),
    whole('1,900 headers', ask('A:\r\n'.repeat(1_900))),
    whole('two credentials', ask(`${credential || 'Authorization: Basic x\r\n'}Authorization: Bearer x\r\n`)),
    whole(
      'headers named after members of objects',
      ask('__proto__: 1\r\nconstructor: 1\r\ntoString: 1\r\nhasOwnProperty: x\r\n'),
    ),
    whole(
      'an id of another client for the request',
      ask('X-Request-Id: <script>alert(1)</script>\r\nX-Request-Id: b\r\n'),
    ),
    whole('expectation that nobody can meet', ask('Expect: tea\r\n')),
    whole(
      'another protocol',
      `GET ${get} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n`,
    ),
    whole(
      'HTTP/2 over this connection',
      `GET ${get} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n`,
    ),
    whole(
      'preflight with odd names',
      `OPTIONS ${get} HTTP/1.1\r\n${CLOSE}Origin: null\r\nAccess-Control-Request-Method: \r\nAccess-Control-Request-Headers: ,,,\r\n\r\n`,
    ),
    latin1('bytes beyond ASCII in headers', ask('X-Odd: \xff\xfe\r\nAccept-Language: \xe9\r\nCookie: \xff=\xff\r\n')),
    latin1('NUL in a header', ask('X-Odd: a\0b\r\n')),
    broken('space in a name', ask('X Odd: 1\r\n')),
    broken('no colon', ask('Odd\r\n')),
    broken('no name', ask(': 1\r\n')),
    broken('folded header', ask('X-Odd: a\r\n b\r\n')),
    broken('line feeds alone', `GET ${get} HTTP/1.1\nHost: localhost\nConnection: close\n\n`),
    broken('carriage returns alone', `GET ${get} HTTP/1.1\rHost: localhost\r\r`),
  ]
}

function framing({ post, credential }: RawTarget): readonly RawRequest[] {
  const send = (lines: string, body: string) =>
    `POST ${post} HTTP/1.1\r\n${CLOSE}${credential}Content-Type: application/json\r\n${lines}\r\n${body}`
  const chunked = 'Transfer-Encoding: chunked\r\n'
  return [
    whole('empty chunked body', send(chunked, '0\r\n\r\n')),
    whole(
      'chunks of one byte',
      send(chunked, `${[...'{"a":1}'].map((letter) => `1\r\n${letter}\r\n`).join('')}0\r\n\r\n`),
    ),
    whole('trailers', send(chunked, '2\r\n{}\r\n0\r\nContent-Length: 5\r\nAuthorization: x\r\n\r\n')),
    whole('continuation that is waited for', send('Expect: 100-continue\r\nContent-Length: 2\r\n', '{}')),
    whole(
      'two requests at once',
      send('Content-Length: 2\r\n', '{}').replace('close', 'keep-alive').concat(send('Content-Length: 2\r\n', '{}')),
    ),
    ...['zz', '-1', 'FFFFFFFFFFFFFFFFF', '0x2', '', '2;x=', `2;${'x'.repeat(20_000)}`].map((size) =>
      broken(`chunk of "${size.slice(0, 20)}" bytes`, send(chunked, `${size}\r\n{}\r\n0\r\n\r\n`)),
    ),
    broken('chunk longer than it says', send(chunked, '2\r\n{"a":1}\r\n0\r\n\r\n')),
    broken('chunks that do not end', send(chunked, '2\r\n{}\r\n')),
    ...['-1', '+2', '1e3', '0x2', '99999999999999999999', '2, 2', ' ', '2.0'].map((length) =>
      broken(`Content-Length ${length}`, send(`Content-Length: ${length}\r\n`, '{}')),
    ),
    broken('two lengths', send('Content-Length: 2\r\nContent-Length: 3\r\n', '{} ')),
    broken('length and chunks', send(`Content-Length: 2\r\n${chunked}`, '0\r\n\r\n')),
    ...['xchunked', 'chunked, chunked', 'gzip, chunked', 'identity', 'chunked, identity'].map((coding) =>
      broken(`Transfer-Encoding ${coding}`, send(`Transfer-Encoding: ${coding}\r\n`, '2\r\n{}\r\n0\r\n\r\n')),
    ),
    broken('less than it says', send('Content-Length: 1000\r\n', '{"a":')),
    broken('more than it says', send('Content-Length: 2\r\n', '{}{}{}{}')),
  ]
}

function bodies({ post, credential }: RawTarget): readonly RawRequest[] {
  const send = (name: string, type: string, body: string | Buffer) => {
    const bytes = Buffer.from(body)
    const head = `POST ${post} HTTP/1.1\r\n${CLOSE}${credential}Content-Type: ${type}\r\nContent-Length: ${bytes.length}\r\n\r\n`
    return whole(name, Buffer.concat([Buffer.from(head, 'latin1'), bytes]))
  }
  const json = (name: string, body: string | Buffer) => send(name, 'application/json', body)
  const packed = (coding: string, bytes: Buffer) =>
    send(`${coding} of 64 MiB`, `application/json\r\nContent-Encoding: ${coding}`, bytes)
  const zeros = Buffer.alloc(64 * MIB, ' ')
  return [
    json('a body too large', ' '.repeat(3 * MIB)),
    json('brackets without end', '['.repeat(100_000)),
    json('brackets 60,000 deep', `${'['.repeat(60_000)}${']'.repeat(60_000)}`),
    json('members 10,000 deep', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`),
    json('a number of 100,000 digits', `{"amount":${'9'.repeat(100_000)}}`),
    json('a fraction of 100,000 digits', `{"amount":0.${'1'.repeat(100_000)}}`),
    json('numbers out of range', '{"amount":1e999999,"limit":-1e999999,"quantity":1e-999999}'),
    json('10,000 members', `{${Array.from({ length: 10_000 }, (_, at) => `"k${at}":1`).join()}}`),
    json('members that come twice', '{"name":"a","name":"b","name":{}}'),
    json(
      'members of the prototype',
      '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"a":{"__proto__":null}}',
    ),
    json('lone surrogates', '{"name":"\\ud800","\\udfff":"x","email":"\\udc00@example.com"}'),
    json('NUL', '{"name":"a\\u0000b","\\u0000":1}'),
    json('bytes that are no UTF-8', Buffer.from('{"name":"\xff\xfe\xc0\x80"}', 'latin1')),
    json('UTF-16', Buffer.from('\ufeff{"name":"a"}', 'utf16le')),
    json('byte order mark', '\ufeff{}'),
    json('nothing but white space', ' \r\n\t'),
    json('comments', '{/* */"name":"a"}'),
    ...['utf-7', 'iso-8859-1', '"UTF-8"', 'utf-16le', '', 'x"y', 'utf-8; charset=latin1'].map((charset) =>
      send(`charset ${charset}`, `application/json; charset=${charset}`, '{"name":"\u00e9"}'),
    ),
    ...[
      'application/',
      '/json',
      'application/json, text/plain',
      'application/json\r\nContent-Type: text/plain',
      '\xff/\xfe',
      ';',
    ].map((type) => send(`type ${JSON.stringify(type)}`, type, '{}')),
    send(
      'multipart',
      'multipart/form-data; boundary=x',
      '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--',
    ),
    send('25,000 pairs', 'application/x-www-form-urlencoded', 'a=1&'.repeat(25_000)),
    send('pairs in deep brackets', 'application/x-www-form-urlencoded', `a${'[b]'.repeat(5_000)}=1`),
    send(
      'pairs of the prototype',
      'application/x-www-form-urlencoded',
      '__proto__[x]=1&constructor[prototype][x]=1&a[__proto__]=1&[]=1&=&[=1&%=%',
    ),
    packed('gzip', gzipSync(zeros)),
    packed('deflate', deflateSync(zeros)),
    packed('br', Buffer.from('no brotli at all')),
    packed('gzip, gzip', gzipSync(gzipSync(zeros))),
  ]
}

function notHttp(): readonly RawRequest[] {
  return [
    broken('nothing', ''),
    broken('a line end', '\r\n'),
    broken('10,000 line ends', '\r\n'.repeat(10_000)),
    broken('half a request line', 'GET /'),
    broken('half a header', 'GET / HTTP/1.1\r\nHost: loc'),
    broken('HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'),
    broken('TLS', Buffer.from('16030100a5010000a10303000102030405060708090a0b0c0d0e0f', 'hex')),
    broken('another protocol\u2019s greeting', 'SSH-2.0-OpenSSH_9.9\r\n'),
    broken('an answer', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
    broken('a PROXY header', 'PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\nGET / HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    broken('all bytes', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))),
  ]
}

const ANSWER_MS = 20_000
/** The number of connections that send part of a request and then wait. */
const HALF_OPEN = 50

/**
 * Sends bytes, and reads until the server closes. After a partial request, ends its side of the connection. After a complete
 * request it does not, because Node.js would then drop the answer.
 */
export function exchangeBytes(url: string, { bytes, isWhole }: RawRequest): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    const text = () => Buffer.concat(chunks).toString()
    const late = setTimeout(() => {
      socket.destroy()
      reject(
        new Error(`the connection was left open for ${ANSWER_MS} ms after ${JSON.stringify(text().slice(0, 200))}`),
      )
    }, ANSWER_MS)
    const end = () => {
      clearTimeout(late)
      socket.destroy()
      resolve(text())
    }
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.once('end', end)
    // A server may close before it has received all bytes.
    socket.once('error', end)
    if (isWhole) socket.write(bytes)
    else socket.end(bytes)
  })
}

/** Returns the faults of the answers. @param allowed statuses above 499 that are allowed for a request line */
export function judgeRaw(
  { isWhole }: RawRequest,
  text: string,
  secrets: ReadonlyMap<string, string>,
): readonly string[] {
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
  const [head = '', body = ''] = text.split('\r\n\r\n', 2)
  const isJson = /^content-type: application\/json/im.test(head)
  return [
    ...(isWhole && statuses.length === 0 ? ['closes the connection without an answer'] : []),
    // 501 is allowed for an unknown method, because a retry would not help.
    ...statuses.filter((status) => status >= 500 && status !== 501).map((status) => `answers ${status}`),
    ...(isJson && statuses.length === 1 && !isChunked(head) && !parses(body) ? ['answers with invalid JSON'] : []),
    ...((statuses[0] ?? 0) >= 400 && !/^content-type: (application\/json|text\/html)/im.test(head)
      ? [`answers ${statuses[0]} outside the envelope`]
      : []),
    ...findInternals(text),
    ...findSecrets(text, secrets),
  ]
}

function isChunked(head: string): boolean {
  return /^transfer-encoding: chunked/im.test(head)
}

function parses(body: string): boolean {
  try {
    return body === '' || JSON.parse(body) !== undefined
  } catch {
    return false
  }
}

/** Opens connections with unfinished requests, calls `isAlive` while they are open, and closes them. */
export async function holdOpen(url: string, isAlive: () => Promise<boolean>): Promise<readonly string[]> {
  const { hostname, port } = new URL(url)
  const beginnings = ['', 'GET / HTTP/1.1\r\n', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{']
  const sockets = Array.from({ length: HALF_OPEN }, (_, at) => {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on('error', () => undefined)
    socket.write(beginnings[at % beginnings.length] ?? '')
    return socket
  })
  await delay(100)
  const isFine = await isAlive()
  for (const socket of sockets) socket.resetAndDestroy()
  return isFine ? [] : ['does not answer while connections are half open']
}
