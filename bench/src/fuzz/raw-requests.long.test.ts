import { createServer } from 'node:net'
import { portOf } from '@trestle/testing/free-port.ts'
import { expect, it } from 'vitest'
import { exchangeBytes, judgeRaw, rawRequests } from './raw-requests.ts'

const whole = { name: 'x', bytes: Buffer.from('GET / HTTP/1.1\r\n\r\n'), isWhole: true }
const json = (status: number, body: string) => `HTTP/1.1 ${status} X\r\nContent-Type: application/json\r\n\r\n${body}`

it.each([
  [json(400, '{"code":"BAD"}'), []],
  [json(501, '{}'), []],
  ['', ['closes the connection without an answer']],
  [json(500, '{}'), ['answers 500']],
  [json(400, '{'), ['answers with invalid JSON']],
  ['HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n', ['answers 400 outside the envelope']],
  [json(400, '{"m":"canary"}'), ['tells the password']],
])('finds in the answer %j the problems %j', (text, problems) => {
  expect(judgeRaw(whole, text, new Map([['password', 'canary']]))).toEqual(problems)
})

it('ends its side after an incomplete request, and waits for the answer to a complete one', async () => {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const heard: Buffer[] = []
    socket.on('data', (chunk) => {
      heard.push(chunk)
      if (String(chunk).endsWith('\r\n\r\n')) socket.end('whole')
    })
    socket.on('end', () => socket.writable && socket.end(`${Buffer.concat(heard).length} bytes`))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${portOf(server)}`
  expect(await exchangeBytes(url, whole)).toBe('whole')
  expect(await exchangeBytes(url, { ...whole, bytes: Buffer.from('GET'), isWhole: false })).toBe('3 bytes')
  server.close()
})

it('has a name for each request made of bytes', () => {
  const names = rawRequests({ get: '/', post: '/things', credential: '' }).map(({ name }) => name)
  expect([names.length > 100, new Set(names).size]).toEqual([true, names.length])
})
