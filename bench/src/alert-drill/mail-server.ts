import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { startSmtpListener } from '@trestle/stack/mail/smtp-listener.ts'

/** A mail server that can be taken away. */
export interface MailServer {
  /** Nobody listens. */
  close(): Promise<void>
  /** Takes connections, and says nothing. */
  silence(): Promise<void>
  /** Takes every mail. */
  open(): Promise<void>
}

/** Opens it on a port of 127.0.0.1. */
export async function startMailServer(port: number): Promise<MailServer> {
  let listener = await startSmtpListener({ add: async () => {} }, port)
  const close = async () => {
    await listener.close()
    listener = NOBODY
  }
  const NOBODY = { port, close: async () => {} }
  return {
    close,
    silence: async () => {
      await close()
      listener = { port, close: await startSilence(port) }
    },
    open: async () => {
      await close()
      listener = await startSmtpListener({ add: async () => {} }, port)
    },
  }
}

async function startSilence(port: number): Promise<() => Promise<void>> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return async () => {
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
}
