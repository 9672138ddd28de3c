/** What use cases know of the request that they serve. */
export interface RequestContext {
  /** Audience of new users, and filter of those who are looked up. */
  readonly audience: string
  /** Address for the audit trail. */
  readonly ip: string
  /** Address for limits. */
  readonly address: string
  /** Key of the limits of each client; undefined: the client is not limited. */
  readonly limitKey: string | undefined
  /** By which somebody may be known; undefined where everybody may share it. */
  readonly network: string | undefined
  readonly userAgent: string
  /** Where the flow ends: a permitted target. */
  readonly redirectTo: string
  /** Base of the links in mails. */
  readonly linkBase: string
}
