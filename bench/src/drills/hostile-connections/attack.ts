import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { Attack, type Kind } from './target.ts'

// Keeps hostile connections open until it is ended: `node attack.ts < targets.json`. It is a separate process, so that it does
// not block the service or the honest clients.

const READ_BYTES = 16 * 1_024
const TICK_MS = 1_000
const RETURN_MS = 1_000
const PIPELINED = 8

/** The behaviour of a kind of connection. Returns its work for each second, if any. */
type Manner = (socket: Socket, at: number) => (() => void) | undefined

const attack = Attack.parse(JSON.parse(await text(process.stdin)))
const { huge, slowBody } = attack
const hugeRequest = (at: number) => huge[at % huge.length] ?? ''

const all: Readonly<Record<Kind, Manner>> = {
  'never-read': neverRead,
  'read-slowly': readSlowly,
  'send-ahead': sendAhead,
  'write-heads-slowly': writeHeadSlowly,
  'write-bodies-slowly': writeBodySlowly,
  'half-open': stayHalfOpen,
  'read-all': readAll,
}
const manners = attack.kinds.map((kind) => all[kind])
for (let count = 0; count < attack.connections; count += 1) {
  setTimeout(
    () => keepOpen(manners[count % manners.length] ?? neverRead, count),
    (RETURN_MS * count) / attack.connections,
  )
}

/** Keeps one connection of a kind permanently open. */
function keepOpen(manner: Manner, count: number, round = 0): void {
  const socket = connect({ port: attack.port, host: '127.0.0.1', allowHalfOpen: true })
  const everySecond = manner(socket, Math.floor(count / manners.length) + round)
  const timer = everySecond && setInterval(everySecond, TICK_MS)
  socket.on('error', () => {})
  socket.once('close', () => {
    clearInterval(timer)
    setTimeout(() => keepOpen(manner, count, round + 1), RETURN_MS)
  })
}

function neverRead(socket: Socket, at: number): undefined {
  socket.pause().write(hugeRequest(at))
}

function readSlowly(socket: Socket, at: number) {
  socket.pause().write(hugeRequest(at))
  return () => socket.read(Math.min(READ_BYTES, socket.readableLength))
}

/** Sends ahead. Every tenth connection sends far more than a server reads ahead. */
function sendAhead(socket: Socket, at: number): undefined {
  socket.pause().write(hugeRequest(at).repeat(at % 10 === 0 ? PIPELINED ** 3 : PIPELINED))
}

function writeHeadSlowly(socket: Socket) {
  socket.resume().write('GET / HTTP/1.1\r\nHost: a\r\nX-Filler: ')
  return () => socket.write('x')
}

/** Sends nearly all of the body immediately, and the rest byte by byte. */
function writeBodySlowly(socket: Socket) {
  socket.resume().write(slowBody.head + ' '.repeat(slowBody.bytes))
  return () => socket.write(' ')
}

function stayHalfOpen(socket: Socket, at: number): undefined {
  if (at % 3 === 1) socket.pause().end(hugeRequest(at))
  if (at % 3 === 2) socket.pause().write('nonsense\r\n\r\n')
}

/** Reads large responses at full speed, one each second. */
function readAll(socket: Socket, at: number) {
  let asked = at
  socket.resume()
  return () => socket.write(hugeRequest(asked++))
}
