import {
  type ProtocolProfile,
  type ProtocolProfileOverrides,
  standardProfile,
  withOverrides,
} from '../bacen/profile.ts'

/** The addresses of a PSP: its hosts, without the paths of {@link ProtocolProfile}. */
export type Hosts = { baseUrl: string; tokenUrl?: string }

/** What is known about one PSP. The settings file may override every field of its `profile`. */
export type Dialect = {
  title: string
  /** Null: any. */
  ispb: string | null
  hosts: { production: Hosts | null; sandbox: Hosts | null }
  needsCertificate: boolean
  needsSecret: boolean
  /** Values that it takes beyond the usual, from `settings` of the file: headers and queries name each as `{name}`. */
  settings: Record<string, { isRequired: boolean; what: string }>
  profile: ProtocolProfile
  /** Other paths at which programs request a token: `acquirer check` tries them when the usual path gives none. */
  otherTokenPaths: string[]
  /** The maximum length of an address for callbacks; null where no limit is known. */
  callbackUrlMax: number | null
  /** The public documents and programs that this was taken from. */
  sources: string[]
  /** What was not seen in this PSP's own sandbox, or what sources disagree about. */
  unconfirmed: string[]
}

type Known = Pick<Dialect, 'title' | 'ispb' | 'sources' | 'unconfirmed'> & Partial<Omit<Dialect, 'profile'>>

/** Completes the description of a PSP: what it leaves out has the usual value. */
export function dialect({ profile = {}, ...known }: Known & { profile?: ProtocolProfileOverrides }): Dialect {
  return {
    hosts: { production: null, sandbox: null },
    needsCertificate: true,
    needsSecret: true,
    settings: {},
    otherTokenPaths: [],
    callbackUrlMax: null,
    ...known,
    profile: withOverrides(standardProfile, profile),
  }
}

/** Paths under one prefix, as most PSPs have them. */
export function under(prefix: string): Pick<ProtocolProfile['paths'], 'cob' | 'pix' | 'webhook'> {
  return { cob: `${prefix}/cob`, pix: `${prefix}/pix`, webhook: `${prefix}/webhook` }
}

/** The scopes that the gateway needs, by the standard's names. */
export const standardScopes = ['cob.read', 'cob.write', 'pix.read', 'pix.write', 'webhook.read', 'webhook.write']

/** The standard without additions: for a PSP that is not described here (with overrides), and for the simulator. */
export const generic = dialect({
  title: 'Any PSP that speaks API Pix',
  ispb: null,
  needsCertificate: false,
  sources: ['https://github.com/bacen/pix-api'],
  unconfirmed: ['The standard does not say where and how to request a token.'],
})
