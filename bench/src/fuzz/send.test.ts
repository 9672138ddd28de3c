import { createServer } from 'node:http'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { portOf } from '@trestle/testing/free-port.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createSender, type Sender } from './send.ts'

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
