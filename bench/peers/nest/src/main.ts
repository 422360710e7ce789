// NestJS, class-validator, TypeORM, @nestjs/jwt and qrcode, as they are usually put together.
import 'reflect-metadata'
import { Module, UnprocessableEntityException, ValidationPipe } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { JwtModule } from '@nestjs/jwt'
import { TypeOrmModule } from '@nestjs/typeorm'
import { Event, StatusHistory, Transaction } from './entities'
import { TransactionsController } from './transactions.controller'
import { TransactionsService } from './transactions.service'

const { PORT, PGHOST, PGUSER, PGDATABASE, JWT_SECRET } = process.env

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      host: PGHOST,
      username: PGUSER,
      database: PGDATABASE,
      entities: [Transaction, StatusHistory, Event],
      poolSize: 20,
    }),
    JwtModule.register({ secret: JWT_SECRET, verifyOptions: { algorithms: ['HS256'] } }),
  ],
  controllers: [TransactionsController],
  providers: [TransactionsService],
})
class AppModule {}

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] })
  app.useGlobalPipes(
    new ValidationPipe({
      transform: true,
      whitelist: true,
      exceptionFactory: (errors) => new UnprocessableEntityException(errors),
    }),
  )
  await app.listen(Number(PORT), '127.0.0.1')
}

void main()
