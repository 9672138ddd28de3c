import fp from 'fastify-plugin'

/** Shorter texts are written at once. */
const LONG = 4_096

/**
 * Turns long texts into bytes before they are sent. Of a text that waits for its client, a socket counts the characters, each of
 * which may have three bytes: the bounds of connections would let three times as much wait.
 */
export const sendBytes = fp(
  async (app) => {
    app.addHook('onSend', (_request, _reply, payload, done) => {
      done(null, typeof payload === 'string' && payload.length > LONG ? Buffer.from(payload) : payload)
    })
  },
  { name: 'send-bytes' },
)
