/** The client, the audience and the addresses of a request, as use cases need them. */
export interface RequestContext {
  /** The audience of new users, and of the users that are looked up. */
  readonly audience: string
  /** The client's address, for limits and the audit log; empty when unknown. */
  readonly ip: string
  /** The key of the limits for each client; undefined: the client is not limited. */
  readonly limitKey: string | undefined
  /** The client's network, by which a user may be recognised; undefined where all clients may share it. */
  readonly network: string | undefined
  readonly userAgent: string
  /** The address at which the flow ends. Permitted by the redirect rules, and not checked again. */
  readonly redirectTo: string
  /** The base of the links in mails. */
  readonly linkBase: string
}
