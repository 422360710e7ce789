import { type CanActivate, type ExecutionContext, Injectable, UnauthorizedException } from '@nestjs/common'
import { JwtService } from '@nestjs/jwt'
import type { Request } from 'express'

export interface AuthenticatedRequest extends Request {
  merchantId: string
}

@Injectable()
export class AuthGuard implements CanActivate {
  constructor(private readonly jwt: JwtService) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<AuthenticatedRequest>()
    const [scheme, token] = (request.headers.authorization ?? '').split(' ')
    if (scheme !== 'Bearer' || !token) throw new UnauthorizedException()
    try {
      const { sub } = await this.jwt.verifyAsync<{ sub: string }>(token)
      request.merchantId = sub
      return true
    } catch {
      throw new UnauthorizedException()
    }
  }
}
