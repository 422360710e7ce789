import { describe, expect, it } from 'vitest'
import { ConfigError, readConfig } from '../config.ts'

function errorsOf(environment: Record<string, string>): string[] {
  try {
    readConfig(environment)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message.split('\n  - ').slice(1)
  }
}

describe('the provider of sign-ins', () => {
  const whole = {
    OIDC_ISSUER: 'https://sso.example.com',
    OIDC_CLIENT_ID: 'guiche',
    OIDC_CLIENT_SECRET: 's',
    OIDC_ROLES_CLAIM: 'groups',
    OIDC_ROLES: 'a=admin',
  }

  it('has all its settings', () => {
    const config = readConfig({
      OIDC_ISSUER: 'https://sso.example.com/realms/staff/',
      OIDC_CLIENT_ID: 'guiche',
      OIDC_CLIENT_SECRET: 'of-the-provider',
      OIDC_SCOPES: 'openid email',
      OIDC_ROLES_CLAIM: 'groups',
      OIDC_ROLES: '/gateway=admins=admin, shop=owner@shop-1',
      OIDC_NAME: 'Acme',
      OIDC_ONLY: 'true',
      OIDC_SECOND_FACTOR: 'trusted',
      OIDC_ACR_VALUES: 'gold silver',
    })
    expect(config.oidc).toEqual({
      issuer: 'https://sso.example.com/realms/staff/',
      clientId: 'guiche',
      clientSecret: 'of-the-provider',
      scopes: 'openid email',
      rolesClaim: 'groups',
      rules: [
        { value: '/gateway=admins', role: 'admin', clientId: null },
        { value: 'shop', role: 'owner', clientId: 'shop-1' },
      ],
      name: 'Acme',
      isOnly: true,
      isSecondFactorTrusted: true,
      acrValues: ['gold', 'silver'],
    })
  })

  it('needs its required settings, and rules with existing roles', () => {
    expect(errorsOf(whole)).toEqual([])
    expect(readConfig(whole).oidc).toMatchObject({
      name: 'sso.example.com',
      scopes: 'openid email profile',
      isOnly: false,
    })
    const { OIDC_ISSUER, ...others } = whole
    const errors = errorsOf({ OIDC_ISSUER })
    expect(errors).toEqual(Object.keys(others).map((name) => `${name} must be set together with OIDC_ISSUER`))
    for (const OIDC_ROLES of ['admin', 'a=owner', 'a=admin@shop', 'a=root', 'a=owner@', '=admin', ',', ' , '])
      expect(errorsOf({ ...whole, OIDC_ROLES })[0], OIDC_ROLES).toMatch(/^OIDC_ROLES must be pairs such as/)
  })

  it('needs an https address unless it is on this machine, the scope openid, and its issuer if it is the only way in', () => {
    expect(errorsOf({ ...whole, OIDC_ISSUER: 'http://127.0.0.1:8080/realms/a' })).toEqual([])
    expect(errorsOf({ ...whole, OIDC_ISSUER: 'http://sso.example.com' })).toEqual([
      'OIDC_ISSUER must begin with https://: its answers decide who signs in',
    ])
    expect(errorsOf({ OIDC_ONLY: 'true' })).toEqual(['OIDC_ONLY needs OIDC_ISSUER: otherwise nobody could sign in'])
    expect(errorsOf({ ...whole, OIDC_SCOPES: 'email' })).toEqual(['OIDC_SCOPES must include openid'])
  })
})
