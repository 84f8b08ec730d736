"""What of the language and of the standard library works in a servlet: each case asserts something of it."""

import abc
import argparse
import array
import ast
import asyncio
import base64
import bisect
import calendar
import collections
import concurrent.futures
import configparser
import contextlib
import contextvars
import copy
import csv
import dataclasses
import datetime
import decimal
import difflib
import email.message
import enum
import fnmatch
import fractions
import functools
import glob
import graphlib
import gzip
import hashlib
import heapq
import hmac
import html
import html.parser
import inspect
import io
import ipaddress
import itertools
import json
import locale
import logging
import math
import pathlib
import pickle
import pprint
import random
import re
import secrets
import shlex
import socket
import sqlite3
import statistics
import string
import struct
import subprocess
import tempfile
import textwrap
import threading
import time
import tomllib
import traceback
import types
import typing
import unicodedata
import unittest
import unittest.mock
import urllib.parse
import uuid
import weakref
import xml.dom.minidom
import xml.etree.ElementTree
import zipfile
import zlib
import zoneinfo

import _strptime  # Of cases that are texts.

from edge_servlets import tool

CASES = {
    'classes': """class A:
  x=1
  def f(self): return super().__repr__()
class B(A):
  @property
  def y(self): return 2
assert B().y==2 and A().f()""",
    'dataclasses': """from dataclasses import dataclass,field
@dataclass(frozen=True,order=True)
class P:
  x:int
  y:list=field(default_factory=list)
assert P(1)<P(2) and repr(P(1))=='P(x=1, y=[])' or repr(P(1)).endswith('P(x=1, y=[])')""",
    'typing hints': """from typing import *
import typing
def f(a:Annotated[int,'d'], b:Optional[str]=None, c:'list[int]|None'=None)->dict[str,int]: ...
h=typing.get_type_hints(f,include_extras=True)
assert h['a'].__metadata__==('d',) and get_args(h['b'])[0] is str and h['return']==dict[str,int]""",
    'future annotations': """from __future__ import annotations
import typing
def f(a:int|str)->list[int]: ...
assert f.__annotations__['a'].replace(' ','')=='int|str'
assert typing.get_type_hints(f)['a']==int|str""",
    'TypedDict/Literal/Protocol': """from typing import *
class T(TypedDict,total=False):
  a:Required[int]
  b:str
assert T.__required_keys__=={'a'}
class Q(Protocol):
  def f(self):...
""",
    'PEP 695 generics': """type X[T]=list[T]
def f[T](a:T)->T: return a
class C[T]: pass
assert f(1)==1""",
    'async/await': """import asyncio
async def f(): return 1
c=f()
try: c.send(None)
except StopIteration as e: assert e.value==1""",
    'async gen/comprehension': """async def g():
  yield 1
async def f(): return [x async for x in g()]
c=f()
try: c.send(None)
except StopIteration as e: assert e.value==[1]""",
    'match': """def f(x):
  match x:
    case {'a':int(y)} if y>1: return y
    case [1,*r]: return r
    case str()|None: return 's'
assert f({'a':3})==3 and f([1,2])==[2] and f('q')=='s'""",
    'f-strings': """x=3.14159;n='q'
assert f'{x:.2f} {n!r:>5} {x=:.1f} {'nested'}'=="3.14   'q' x=3.1 nested"
""",
    'traceback': """import traceback
def g(): raise ValueError('x')
try:
  try: g()
  except ValueError as e: raise KeyError('k') from e
except KeyError as e: s=''.join(traceback.format_exception(e))
assert 'direct cause' in s and 'in g' in s""",
    'exception groups': """try: raise ExceptionGroup('g',[ValueError(1),TypeError(2)])
except* ValueError as e: pass
except* TypeError: pass""",
    'generators': """def g():
  x=yield 1
  yield from [x,2]
i=g();assert next(i)==1 and i.send(5)==5 and list(i)==[2]""",
    'decorators': """import functools
def d(f):
  @functools.wraps(f)
  def w(*a,**k): return f(*a,**k)+1
  return w
@d
def f(x,/,*,y): 'doc'; return x+y
assert f(1,y=2)==4""",
    'context managers': """from contextlib import contextmanager,ExitStack
@contextmanager
def c():
  yield 1
with c() as x, ExitStack() as s: assert x==1""",
    'inspect.signature/doc': """import inspect
def f(a:int,b='x')->str:
  '''Doc.

  Args:
      a: the a
  '''
assert str(inspect.signature(f))=="(a: int, b='x') -> str" and 'Args' in inspect.getdoc(f)""",
    'walrus/star/unpack': """a,*b=[1,2,3]
if (n:=len(b))==2: pass
assert {**{'a':1},'b':2}=={'a':1,'b':2}""",
    'metaclass/descriptors': """class M(type):
  def __new__(m,n,b,d,**k): d['z']=k; return type.__new__(m,n,b,d)
class A(metaclass=M,q=1):
  def __init_subclass__(cls,**k): pass
assert A.z=={'q':1}""",
    'big ints/complex': """assert 2**200%97==2**200%97 and (1+2j)*(3-1j)==5+5j and int('9'*50)""",
    'recursion 900': """def f(n): return 0 if n==0 else 1+f(n-1)
assert f(900)==900""",
    'RecursionError caught': """def f(n): return f(n+1)
try: f(0)
except RecursionError: pass""",
    '__slots__/enum/namedtuple': """from enum import Enum,auto,StrEnum
from collections import namedtuple
class E(StrEnum):
  A=auto()
assert E.A=='a' and namedtuple('N','a b')(1,2).b==2""",
    'str methods/unicode': """assert 'Straße'.upper()=='STRASSE' and '日本'.encode()and 'é'.casefold() and '%05.1f|%-4s'%(3.14159,'a')=='003.1|a   '""",
    'exec/eval/compile/ast': """import ast
assert eval(compile(ast.parse('1+2',mode='eval'),'x','eval'))==3""",
    'json': """import json
assert json.loads(json.dumps({'a':[1,2.5,None,True,'\\u00e9']}))=={'a':[1,2.5,None,True,'é']}
assert json.dumps({'b':1,'a':2},sort_keys=True,indent=1)""",
    're': """import re
assert re.sub(r'(?P<a>\\d+)(?=x)',lambda m:str(int(m['a'])*2),'12x')=='24x' and re.findall(r'\\b\\w+\\b','a b')==['a','b']""",
    'math': """import math
assert math.isclose(math.gamma(5),24) and math.comb(5,2)==10 and math.prod([2,3])==6""",
    'datetime': """from datetime import *
assert datetime.fromisoformat('2026-11-25T00:00:00+01:00').astimezone(timezone.utc).isoformat()=='2026-11-24T23:00:00+00:00' and datetime.strptime('2026-01-02','%Y-%m-%d').strftime('%a %d %b')=='Fri 02 Jan'""",
    'decimal': """from decimal import *
getcontext().prec=30
assert str(Decimal(1)/3)=='0.333333333333333333333333333333' and Decimal('2.675').quantize(Decimal('0.01'),ROUND_HALF_UP)==Decimal('2.68')""",
    'fractions': """from fractions import Fraction as F
assert F(1,3)+F(1,6)==F(1,2)""",
    'random': """import random
r=random.Random(1);assert r.randint(0,9)==2 and len(random.sample(range(9),3))==3""",
    'hashlib': """import hashlib
assert hashlib.sha256(b'a').hexdigest()[:8]=='ca978112' and hashlib.md5(b'a').hexdigest() and hashlib.blake2b(b'').hexdigest() and hashlib.sha3_256(b'') and hashlib.new('SHA1', b'a').name=='sha1'""",
    'pbkdf2': """import hashlib, io
assert hashlib.pbkdf2_hmac('sha256',b'password',b'salt',2,40).hex()=='ae4d0c95af6b46d32d0adff928f06dd02a303f8ef3c251dfd6e2d85a95474c43830651afcb5c862f'
assert hashlib.file_digest(io.BytesIO(b'a'),'sha256').digest()==hashlib.sha256(b'a').digest()""",
    'hmac': """import hmac
assert hmac.new(b'k',b'm','sha256').hexdigest()""",
    'base64': """import base64
assert base64.b64decode(base64.urlsafe_b64encode(b'abc'))==b'abc'""",
    'itertools': """import itertools as i
assert list(i.batched('abc',2))==[('a','b'),('c',)] and list(i.pairwise('abc'))""",
    'collections': """from collections import *
assert Counter('aab').most_common(1)==[('a',2)] and deque([1],maxlen=1) is not None and OrderedDict() is not None and ChainMap({},{'a':1})['a']==1""",
    'functools': """from functools import *
@lru_cache(None)
def f(n): return n
@singledispatch
def g(x): return 1
assert f(1)==1 and reduce(lambda a,b:a+b,[1,2])==3 and g(1)==1""",
    'enum': """import enum
class F(enum.Flag):
  A=1
  B=2
assert F.A|F.B==F(3)""",
    'gather': """import asyncio
async def a(n):
  await asyncio.sleep(0.01); return n
async def m():
  async with asyncio.TaskGroup() as g: x=g.create_task(a(7))
  return await asyncio.gather(a(1),a(2))+[x.result()]
assert asyncio.run(m())==[1,2,7]""",
    'asyncio.run': """import asyncio
async def f(): return 1
assert asyncio.run(f())==1""",
    'urllib.parse': """from urllib.parse import *
assert urlsplit('https://a:1/b?c=d').port==1 and urlencode({'a':'é b'})=='a=%C3%A9+b' and urljoin('http://a/b/c','../d')=='http://a/d'""",
    'csv': """import csv,io
assert list(csv.DictReader(io.StringIO('a,b\\n1,"2,3"\\n')))==[{'a':'1','b':'2,3'}]""",
    'io': """import io
assert io.TextIOWrapper(io.BytesIO('é'.encode()),'utf-8').read()=='é'""",
    'textwrap': """import textwrap
assert textwrap.dedent('  a\\n  b')=='a\\nb' and textwrap.fill('a b c',3)""",
    'string': """import string
assert string.Template('$a').substitute(a=1)=='1'""",
    'statistics': """import statistics as s
assert s.mean([1,2,3])==2 and s.stdev([1,2,3])==1""",
    'uuid': """import uuid
assert uuid.uuid4().version==4 and str(uuid.uuid5(uuid.NAMESPACE_DNS,'a'))""",
    'html': """import html
from html.parser import HTMLParser
assert html.unescape('&eacute;&lt;')=='é<' and HTMLParser().feed('<a>') is None""",
    'xml.etree': """import xml.etree.ElementTree as E
assert E.fromstring('<a b="1"><c>x</c></a>').find('c').text=='x'""",
    'xml.dom.minidom': """import xml.dom.minidom as m
assert m.parseString('<a/>').documentElement.tagName=='a'""",
    'sqlite3': """import sqlite3
c=sqlite3.connect(':memory:');c.execute('create table t(a)');c.execute('insert into t values(1)');assert c.execute('select * from t').fetchall()==[(1,)]""",
    'zlib': """import zlib
assert zlib.decompress(zlib.compress(b'a'*100))==b'a'*100 and zlib.crc32(b'a')""",
    'gzip': """import gzip
assert gzip.decompress(gzip.compress(b'abc'))==b'abc'""",
    'zipfile': """import zipfile,io
b=io.BytesIO();z=zipfile.ZipFile(b,'w',zipfile.ZIP_DEFLATED);z.writestr('a','b');z.close();assert zipfile.ZipFile(b).read('a')==b'b'""",
    'difflib': """import difflib
assert difflib.get_close_matches('appel',['apple'])==['apple'] and list(difflib.unified_diff(['a'],['b']))""",
    'secrets': """import secrets
assert len(secrets.token_hex(8))==16""",
    'time': """import time
assert time.time()>0 and time.monotonic()>=0 and time.strftime('%Y',time.gmtime(0))=='1970'""",
    'logging': """import logging
logging.getLogger('x').debug('y')""",
    'unittest': """import unittest
class T(unittest.TestCase):
  def test_a(self): self.assertEqual(1,1)
import io
r=unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromTestCase(T))
assert r.wasSuccessful() and r.testsRun==1""",
    'unittest.mock': """from unittest.mock import Mock
assert Mock(return_value=1)()==1""",
    'struct': """import struct
assert struct.unpack('<Hd',struct.pack('<Hd',1,2.5))==(1,2.5)""",
    'pathlib': """from pathlib import *
assert PurePosixPath('/a/b.c').suffix=='.c'""",
    'pickle': """import pickle
assert pickle.loads(pickle.dumps({'a':(1,)}))=={'a':(1,)}""",
    'copy': """import copy
assert copy.deepcopy([[1]])==[[1]]""",
    'heapq/bisect': """import heapq,bisect
assert heapq.nsmallest(1,[2,1])==[1] and bisect.bisect([1,2],1)==1""",
    'calendar': """import calendar
assert calendar.monthrange(2026,2)==(6,28)""",
    'tomllib': """import tomllib
assert tomllib.loads('a=1')=={'a':1}""",
    'configparser': """import configparser
c=configparser.ConfigParser();c.read_string('[a]\\nb=1');assert c['a']['b']=='1'""",
    'argparse': """import argparse
assert argparse.ArgumentParser().parse_args([])""",
    'email': """from email.message import EmailMessage
m=EmailMessage();m['Subject']='é';m.set_content('x');assert m.as_bytes()""",
    'ipaddress': """import ipaddress
assert ipaddress.ip_address('10.0.0.1').is_private""",
    'unicodedata': """import unicodedata
assert unicodedata.normalize('NFD','é')=='e\\u0301' and unicodedata.name('é')""",
    'locale': """import locale""",
    'threading': """import threading
l=threading.Lock()
with l: pass""",
    'concurrent.futures': """import concurrent.futures""",
    'subprocess': """import subprocess""",
    'socket': """import socket""",
    'tempfile': """import tempfile""",
    'shlex/glob/fnmatch': """import shlex,glob,fnmatch
assert shlex.split('a "b c"')==['a','b c']""",
    'array': """import array
assert array.array('d',[1.0])[0]==1.0""",
    'contextvars': """import contextvars
v=contextvars.ContextVar('v',default=1);assert v.get()==1""",
    'graphlib': """import graphlib
assert list(graphlib.TopologicalSorter({'a':{'b'}}).static_order())==['b','a']""",
    'pprint': """import pprint
assert pprint.pformat({'a':1})""",
    'types/weakref/abc': """import types,weakref,abc""",
}


@tool
def names() -> list[str]:
    return list(CASES)


@tool
def run(name: str) -> str:
    exec(compile(CASES[name], name, "exec"), {"__name__": "case"})
    return "ok"
