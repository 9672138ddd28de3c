import { createMailStore } from './mail-store.ts'
import { startSmtpListener } from './smtp-listener.ts'
import { startWebListener } from './web-listener.ts'

/** A running mail catcher, and the ports it listens on. */
export interface MailCatcher {
  readonly smtpPort: number
  readonly webPort: number
  close(): Promise<void>
}

/** Starts the SMTP listener and the page. Port 0 takes any free one. */
export async function startMailCatcher(ports: { readonly smtp: number; readonly web: number }): Promise<MailCatcher> {
  const store = createMailStore(() => new Date())
  const smtp = await startSmtpListener(store, ports.smtp)
  const web = await startWebListener(store, ports.web)
  return {
    smtpPort: smtp.port,
    webPort: web.port,
    close: async () => {
      await Promise.all([smtp.close(), web.close()])
    },
  }
}
