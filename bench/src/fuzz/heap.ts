import { z } from 'zod'

const Targets = z.tuple([z.object({ webSocketDebuggerUrl: z.string() })])

/** Has a process that was started with `--inspect=127.0.0.1:<port>` collect its garbage, twice for what the first frees. */
export async function collectGarbage(port: number): Promise<void> {
  const [target] = Targets.parse(await (await fetch(`http://127.0.0.1:${port}/json/list`)).json())
  const socket = new WebSocket(target.webSocketDebuggerUrl)
  try {
    await once(socket, 'open')
    for (let id = 1; id <= 2; id += 1) {
      const answered = once(socket, 'message')
      socket.send(JSON.stringify({ id, method: 'HeapProfiler.collectGarbage' }))
      await answered
    }
  } finally {
    socket.close()
  }
}

function once(socket: WebSocket, event: 'open' | 'message'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.addEventListener(event, () => resolve(), { once: true })
    socket.addEventListener('error', () => reject(new Error('the process does not let its memory be collected')), {
      once: true,
    })
  })
}
